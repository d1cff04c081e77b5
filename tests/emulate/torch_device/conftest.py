"""The planted project's tests run on an emulated GPU, from a copy, by the tests beside this file."""

collect_ignore = ["planted"]
