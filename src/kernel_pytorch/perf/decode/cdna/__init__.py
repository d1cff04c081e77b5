"""The whole decoder as one kernel, for AMD's CDNA GPUs (gfx942, gfx950): HIP, compiled for each decoder's sizes."""
