"""The AMD architecture families that configuration and defaults speak about."""

from __future__ import annotations

from enum import Enum


class AMDArchitecture(Enum):
    """AMD GPU families. AUTO asks the device.

    GCN5 is MI50 and MI60 (GCN 5.1), which have no matrix cores. CDNA is MI100 (gfx908), which has them. RDNA3 includes
    RDNA 3.5 (gfx115x). CDNA5 is gfx1250: waves of 32 lanes and WMMA, unlike the CDNA families before it.
    """

    AUTO = "auto"
    GCN5 = "gcn5"
    CDNA = "cdna"
    CDNA2 = "cdna2"
    CDNA3 = "cdna3"
    CDNA4 = "cdna4"
    CDNA5 = "cdna5"
    RDNA2 = "rdna2"
    RDNA3 = "rdna3"
    RDNA4 = "rdna4"
