"""An emulated AMD GPU as torch's "cuda" device, for a torch that was built for the CPU alone."""
