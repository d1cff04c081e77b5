"""The whole decoder as one kernel, for NVIDIA from compute capability 9.0 on: TMA, warps that specialise, Gluon."""
