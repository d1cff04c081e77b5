"""How long an operator takes on a GPU: formulas, coefficients fitted to real measurements, and how far off they are."""
