"""How near an instruction's result is to the hardware's, by its mnemonic."""

from __future__ import annotations

import re

#: What a report says of each kind but the exact ones.
KINDS = {
    "rounded": "correctly rounded here, up to one unit in the last place off on hardware",
    "coarse": "correctly rounded here, good to about 2^-23 on hardware (a start for Newton's method)",
    "filtered": "filtered by exact sums of fractions of 1/256 here; what hardware rounds between them is not published",
    "summed": "sums of products whose inner rounding AMD does not publish: the last places may differ",
}
_FUNCTIONS = "rcp|rcp_iflag|rsq|sqrt|exp|exp_legacy|log|log_legacy|sin|cos|tanh"
_ROUNDED = re.compile(rf"v_(s_)?({_FUNCTIONS})_(f16|bf16|f32)\Z")
_COARSE = re.compile(r"v_(rcp|rsq|sqrt)_f64\Z")
_FILTERED = re.compile(r"image_(sample|gather4)\w*\Z")
_SUMMED = re.compile(r"v_(mfma|smfmac|wmma|swmmac|dot\d+c?)_(scale_)?(f|bf16_)\w+\Z|v_dot\d+\w*_f32_\w+\Z")


def fidelity(mnemonic: str) -> str:
    """ "exact", or one of KINDS."""
    if _ROUNDED.match(mnemonic):
        return "rounded"
    if _COARSE.match(mnemonic):
        return "coarse"
    if _FILTERED.match(mnemonic):
        return "filtered"
    return "summed" if _SUMMED.match(mnemonic) else "exact"
