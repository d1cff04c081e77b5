"""Inline PTX: found, parsed, explained, and translated to C++ where every instruction has a known meaning."""
