"""From instructions to C."""
