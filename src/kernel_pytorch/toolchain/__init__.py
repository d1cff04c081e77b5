"""Finds a HIP compiler, builds code objects, reads what is in them, caches them."""
