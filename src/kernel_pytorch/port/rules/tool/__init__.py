"""Codes of the tool itself. These files hold pages only; each names the module that emits its code."""
