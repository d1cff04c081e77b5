"""FLOPs and bytes from shapes, against what the GPU can do."""
