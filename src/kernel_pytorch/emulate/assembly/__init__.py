"""Assembly text of the compiler or of llvm-objdump as one form of instruction."""
