"""What is done to models: traced, rewritten, compared with what they computed before, measured. For any GPU."""
