"""An edit that cannot be gated

What: A change whose text begins in one preprocessor branch and ends in another.
Why: kpt puts every AMD change between `#if` and `#endif`. No such pair fits around text that crosses an existing
    `#if`, `#else` or `#endif`, so the line stays as it was.
Fix: Rewrite the lines so that each branch holds whole statements, then run kpt again; or make the change by hand.
Source: https://eel.is/c++draft/cpp.cond (a directive is a whole line). Not changing such lines is a limit of kpt
    itself.
"""

# Only the page: the translator (port/hipify) emits this code.
