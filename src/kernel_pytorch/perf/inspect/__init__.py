"""What torch.compile would run on a GPU that is not here: captured, compiled for it, read and estimated."""
