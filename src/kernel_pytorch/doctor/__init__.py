"""Is this machine fit, and what will bite: the checks behind `kpt doctor`."""
