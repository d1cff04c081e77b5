"""One file per check. The folder is the list."""
