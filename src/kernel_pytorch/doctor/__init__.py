"""Is this machine fit for ROCm, and what has to be fixed: the checks behind `kpt doctor`."""
