"""Says what each piece of GPU time was spent on, and why the GPU stood still."""
