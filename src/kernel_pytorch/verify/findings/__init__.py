"""Pages of what verification finds: the code is emitted where the check is made."""
