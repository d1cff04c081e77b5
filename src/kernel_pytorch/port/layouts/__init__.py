"""How ported C++ is laid out: as a copy, behind gates in one source, or for torch's own extension build."""
