"""Codes of the renaming pass (port/names). These files hold pages only; each names the module that emits its code."""
