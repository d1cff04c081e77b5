"""AMD machine code as text: formats and operands by hand, opcodes from a generated table."""
