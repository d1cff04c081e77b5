"""Is one call faster than another? Measured in turns."""
