"""Decoding one token at the speed of memory: kernels, operators, and passes that put them into Inductor's graphs."""
