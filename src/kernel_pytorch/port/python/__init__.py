"""Python source as the porting rules see it, and the ROCm gate around what they rewrite."""
