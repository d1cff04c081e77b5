"""A member of a structure that HIP's structure has under another name, or not at all

What: `prop.sparseCudaArraySupported`, `attribute.val.clusterDim` and other members of CUDA's structures, in a file that
    names the structure.
Why: HIP has the structure, so its name is translated. The compiler then refuses the member.
Fix: kpt writes HIP's name of the member. Where HIP has none, leave the member out or find another way to get the
    value.
Source: projects/hip/include/hip/hip_runtime_api.h in ROCm/rocm-systems. We compared the structures of CUDA 11 to 13
    and ROCm 7.2 member by member; port/tables/members.csv has the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.tables import read_table

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP206",
    "member-of-a-structure",
    languages=("cuda", "c++"),
    safety=Safety.SAFE,
    triggers=tuple(name.encode() for name in (
        "cudaLaunchAttribute", "CUlaunchAttribute", "cudaFuncAttributes", "emPoolProps", "hildGraphNodeParams",
        "CUDA_CHILD_GRAPH_NODE_PARAMS", "cudaDeviceProp", "cudaTextureDesc", "CUDA_GRAPH_INSTANTIATE_PARAMS",
        "CUDA_MEMCPY_NODE_PARAMS", "CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC", "CUarrayMapInfo", "XtDesc",
        "ostNodeParams", "CUDA_HOST_NODE_PARAMS", "cudaResourceDesc",
    )),
)  # fmt: skip


class _Member(NamedTuple):
    types: tuple[bytes, ...]
    hip: bytes
    is_common_word: bool  # only a variable that the file declares with the type is meant
    note: str


@lru_cache(maxsize=1)
def _members() -> dict[bytes, _Member]:
    rows = read_table("members.csv")
    return {
        row["member"].encode(): _Member(
            tuple(row["types"].encode().split()), row["hip"].encode(), bool(row["declared"]), row["note"]
        )
        for row in rows
    }


def check(src: CxxFile) -> Iterator[Finding]:
    """Each use of such a member."""
    found = words(src)
    for name, member in _members().items():
        named = [one for one in member.types if one in found]
        for index in found.get(name, ()) if named else ():
            if text_at(src, index - 1) not in (b".", b"->"):
                continue
            if member.is_common_word and not _is_declared(src, text_at(src, index - 2), named):
                continue
            token = src.code[index]
            place = Span(token.start, token.end)
            if member.hip:
                message = f"{name.decode()} is {member.hip.decode()} in HIP's structure"
                yield RULE.finding(src, place, message, [Edit(place, member.hip)])
            else:
                yield RULE.finding(src, place, f"HIP's structure has no such member {name.decode()}: {member.note}")


def _is_declared(src: CxxFile, variable: bytes, types: list[bytes]) -> bool:
    pattern = rb"\b(?:%b)\s*[*&]?\s*(?:\w+\s*,\s*)*%b\b" % (b"|".join(types), re.escape(variable))
    return re.search(pattern, src.data) is not None
