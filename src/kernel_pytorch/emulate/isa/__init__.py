"""The instruction table: what every mnemonic means."""
