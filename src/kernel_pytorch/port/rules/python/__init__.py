"""Rules that read Python."""
