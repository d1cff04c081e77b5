"""The `kpt` command: one file per verb."""
