"""One C++ front end: tokens, directives, conditions, what a ROCm build compiles, files that belong together."""
