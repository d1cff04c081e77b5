"""What to do about a profile, with the saving it could bring."""
