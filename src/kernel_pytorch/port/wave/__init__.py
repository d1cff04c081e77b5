"""Wave width: which values are lane masks, lane ids and wave sizes, and where a 32 meets a 64-lane collective.

`analysis.hazards` is the way in; docs/wave-width.md says what is rewritten and why that keeps the meaning.
"""
