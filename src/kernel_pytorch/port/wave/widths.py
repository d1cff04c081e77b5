"""The warpSize variable and other names of the hardware's width (KP304-306, 308, 309, 311, 312, 323, 324)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.cxx.syntax import FileSyntax, in_comment
from kernel_pytorch.port.wave.facts import Facts
from kernel_pytorch.port.wave.hazard import Hazard, replace
from kernel_pytorch.port.wave.model import WaveModel, has_collective, is_device

_CONSTANT_PLACES = frozenset({"template_argument_list", "case_statement", "static_assert_declaration", "enumerator"})
_SIXTY_FOUR = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(\w*(?:warp|wave|lane)\w*)[ \t]+\(?(32|64)\)?[ \t]*(?://[^\n]*)?$",
    re.MULTILINE | re.IGNORECASE,
)
_CONST_SIXTY_FOUR = re.compile(
    rb"\b(?:constexpr|const)\s[^;=(){}\n]*?\b(\w*(?:warp|wave)\w*)\s*=\s*(32|64)\s*;", re.IGNORECASE
)
_AMD = re.compile(rb"rocm|hip|amd|cdna", re.IGNORECASE)
_NARROW = "RDNA and gfx1250 have 32-lane waves under HIP"
_WAVEFRONT = re.compile(rb"\b__AMDGCN_WAVEFRONT_SIZE(?:__)?\b")


def wave_size_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """Uses of `warpSize` in device code. CUDA's is 32 on every device, so 32 is what it means."""
    if not is_device(facts.function):
        return
    if not facts.function.mentions(b"warpSize") or not model.is_builtin_wave_size(facts):
        return
    # A template argument looks like a type to the parser.
    for node in facts.function.of_kind("identifier", "type_identifier"):
        if facts.text(node) != "warpSize":
            continue
        place = _constant_place(node)
        if place:
            yield _constant_use(model, facts, node, place)
        elif not model.follows_hardware:
            code, why = _consumer(model, facts, node)
            yield Hazard(
                code,
                node.start,
                node.end,
                f"warpSize {why}: it is 64 on CDNA and 32 in CUDA",
                (replace(node.start, node.end, "32"),),
            )
    for parameter in facts.function.parameters:
        if parameter.default is not None and not model.follows_hardware:
            for node in parameter.default.walk():
                if node.kind == "identifier" and facts.text(node) == "warpSize":
                    message = "warpSize is a parameter's default: 64 on a CDNA wave, where the program counts in 32s"
                    yield Hazard("KP305", node.start, node.end, message, (replace(node.start, node.end, "32"),))


def mixed_width_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """Code that follows the hardware's width in one place and counts in 32s in another."""
    if not model.follows_hardware or not is_device(facts.function):
        return
    # A width by name may be the stride of a table as well; only lanes that speak to each other must agree on one.
    if not model.queries and not has_collective(facts):
        return
    own = model.own_evidence.get(id(facts), frozenset())
    if own >= {"wave", "w32"}:
        for name, values in facts.assigned.items():
            tags = model.values.variable(facts, name)
            if "w32" in tags and tags & {"lane", "warp", "warps"} and values:
                message = (
                    f"{name} counts in 32s beside code that follows warpSize: choose one width for the whole kernel"
                )
                yield Hazard("KP305", values[0].start, values[0].end, message)


def _constant_place(node: Node) -> str:
    for above in node.ancestors():
        if above.kind == "array_declarator":
            size = above.child("size")
            return "array bound" if size is not None and size.start <= node.start < size.end else ""
        if above.kind in _CONSTANT_PLACES:
            return (
                above.kind.replace("_", " ")
                .removesuffix(" list")
                .removesuffix(" statement")
                .removesuffix(" declaration")
            )
        if above.kind in (
            "argument_list",
            "subscript_argument_list",
            "compound_statement",
            "expression_statement",
            "lambda_expression",
        ):
            return ""
        if above.kind == "declaration":
            return ""
    return ""


def _constant_use(model: WaveModel, facts: Facts, node: Node, place: str) -> Hazard:
    message = f"warpSize is used as {place}, but is not a constant expression since ROCm 7.0"
    if place == "array bound" or not model.follows_hardware:
        text = "64" if place == "array bound" and model.follows_hardware else "32"
        return Hazard("KP308", node.start, node.end, message, (replace(node.start, node.end, text),))
    return Hazard(
        "KP308", node.start, node.end, message + ": pick the width on the host and pass it as a template argument"
    )


def _consumer(model: WaveModel, facts: Facts, node: Node) -> tuple[str, str]:
    """Which hazard a use of warpSize is part of."""
    above = node.parent
    if above is not None and above.kind == "binary_expression" and any(one.kind == "*" for one in above.children):
        other = next((one for one in above.children if one is not node and one.kind != "*"), None)
        value = facts.constant(other) if other is not None else None
        if value is not None and value.value == 32 and not value.from_wave:
            return "KP323", "times 32 is a block of 2048 threads"
    names = _assigned_names(node, facts)
    tags = frozenset[str]().union(*(model.values.variable(facts, name) for name in names)) if names else frozenset()
    if "lane" in tags and any(_shifts_one_by(facts, name) for name in names):
        return "KP304", "makes the lane number that 1 is shifted by"
    if tags & {"warp", "warps"} and any(_indexes_shared(facts, name) for name in names):
        return "KP311", "makes the number of a per-warp slot"
    if tags & {"lane", "warp", "warps"}:
        return "KP305", "makes a lane or warp number"
    return "KP305", "is a step or bound"


def _assigned_names(node: Node, facts: Facts) -> list[str]:
    for above in node.ancestors():
        if above.kind in ("init_declarator", "assignment_expression"):
            target = above.child("declarator") or above.child("left")
            return [facts.text(target).lstrip("*& ")] if target is not None else []
        if above.kind.endswith("_statement"):
            return []
    return []


def _shifts_one_by(facts: Facts, name: str) -> bool:
    return bool(re.search(rf"\b1[uUlL]*\s*<<\s*\(*\s*{re.escape(name)}\b", facts.text(facts.function.body)))


def _indexes_shared(facts: Facts, name: str) -> bool:
    body = facts.text(facts.function.body)
    for match in re.finditer(rf"\b(\w+)\s*\[\s*{re.escape(name)}\s*\]", body):
        if "__shared__" in facts.types.get(match.group(1), ""):
            return True
    return False


def query_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """Host code that takes the width from the device while the kernels count in 32s (KP306, KP323)."""
    if facts.function.kind != "host":
        return
    device = [one for one in model.facts if is_device(one.function)]
    follows = any("wave" in model.own_evidence.get(id(one), frozenset()) for one in device)
    counts = any("w32" in model.own_evidence.get(id(one), frozenset()) for one in device)
    for owner, node in model.queries:
        if owner is not facts:
            continue
        if _times_thirty_two(facts, node):
            message = "32 warps of the device's width are 2048 threads on a 64-lane device: a block has at most 1024"
            edits = () if follows else (replace(node.start, node.end, "32"),)
            yield Hazard("KP323", node.start, node.end, message, edits)
        elif counts and not follows:
            message = "the host takes the wave width from the device, 64 on CDNA, while the kernels count in 32s"
            yield Hazard("KP306", node.start, node.end, message)


def _times_thirty_two(facts: Facts, node: Node) -> bool:
    above = node.parent
    if above is None or above.kind != "binary_expression" or not any(one.kind == "*" for one in above.children):
        return False
    values = [facts.constant(one) for one in above.children if one is not node and one.kind != "*"]
    return any(value is not None and value.value == 32 for value in values)


def vendor_width_hazards(model: WaveModel, syntax: FileSyntax) -> Iterator[Hazard]:
    """A width chosen by vendor: 64 for AMD, 32 for the rest (KP324), and the removed macro (KP309)."""
    data = syntax.source.data
    for pattern in (_SIXTY_FOUR, _CONST_SIXTY_FOUR) if syntax.source.vocabulary >= {b"32", b"64"} else ():
        by_name: dict[bytes, set[bytes]] = {}
        matches = list(pattern.finditer(data))
        for match in matches:
            by_name.setdefault(match.group(1), set()).add(match.group(2))
        for match in matches:
            if by_name[match.group(1)] == {b"32", b"64"} and match.group(2) == b"64":
                name = match.group(1).decode("latin-1")
                message = f"{name} is 64 for every AMD GPU: {_NARROW}; ask the device, or keep 32"
                yield Hazard("KP324", match.start(2), match.end(2), message)
    for match in re.finditer(rb"\?\s*64\s*:\s*32\b", data):
        if _AMD.search(data[max(data.rfind(b"\n", 0, match.start()), match.start() - 80) : match.start()]):
            message = f"64 lanes for every AMD GPU: {_NARROW}; ask the device"
            yield Hazard("KP324", match.start(), match.end(), message)
    for match in _WAVEFRONT.finditer(data):
        if not in_comment(syntax, match.start()):
            yield _wavefront_macro(data, match)


def _wavefront_macro(data: bytes, match: re.Match[bytes]) -> Hazard:
    message = "new compilers do not define __AMDGCN_WAVEFRONT_SIZE"
    line_start = data.rfind(b"\n", 0, match.start()) + 1
    if data[line_start : match.start()].lstrip().startswith(b"#"):
        # A directive cannot be put inside a gate, so the NVIDIA text would not come back: no edit.
        text = message + ": in a directive, 64 lanes are defined(__GFX8__) || defined(__GFX9__)"
        return Hazard("KP309", match.start(), match.end(), text)
    edit = replace(match.start(), match.end(), "__builtin_amdgcn_wavefrontsize()")
    return Hazard("KP309", match.start(), match.end(), message, (edit,))
