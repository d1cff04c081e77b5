"""A `kpt: ignore` without a reason

What: A comment `kpt: ignore[KPnnn]` without a reason after the bracket.
Why: Without a reason the comment silences nothing. Whoever reads the line later must see why the finding does not
    matter.
Fix: Write the reason after the bracket: `# kpt: ignore[KP601] this model is never compiled`.
Source: None outside kpt: this is a rule of kpt itself. docs/porting.md describes the comment.
"""

# Only the page: port/suppress.py emits this code.
