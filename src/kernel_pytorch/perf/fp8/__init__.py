"""Linear layers in 8-bit floating point: an opt-in that gives up precision, and shows how much."""
