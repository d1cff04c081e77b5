"""Weights in 8 or 4 bits, inputs as they are: what a decoder reads for each token becomes half or a quarter."""
