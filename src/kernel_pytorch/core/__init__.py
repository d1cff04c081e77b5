"""What every room shares: hardware table, configuration, platform detection, the dataclasses in between."""
