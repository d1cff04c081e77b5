"""CUDA names that a macro glues together, `#define CALL(x) cuda##x`: the macro's calls say which names it makes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.cxx.compiled_on_rocm import is_compiled
from kernel_pytorch.port.cxx.lexer import Token
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import text_at
from kernel_pytorch.port.cxx.unit import Macro, Unit, macros_of
from kernel_pytorch.port.names.call_shapes import wrapping
from kernel_pytorch.port.names.pieces import DRIVER_PIECE
from kernel_pytorch.port.names.rename import Naming, without_counterpart
from kernel_pytorch.port.names.shims import shims
from kernel_pytorch.port.names.table import Use, find_name, names_used

# What the front of a name becomes in AMD's form of a macro. One answer for each, whatever the calls are: files that
# share a macro are not always seen together.
_FRONTS = {
    b"cublas": b"hipblas", b"cufft": b"hipfft", b"curand": b"hiprand", b"cusparse": b"hipsparse",
    b"cusolver": b"hipsolver", b"CUBLAS_": b"HIPBLAS_", b"CUFFT_": b"HIPFFT_", b"CURAND_": b"HIPRAND_",
    b"CUSPARSE_": b"HIPSPARSE_", b"CUSOLVER_": b"HIPSOLVER_", b"nvrtc": b"hiprtc", b"cuda": b"hip",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Gluer:
    """A macro that glues the front of a CUDA name, a token of `file`, to one of its arguments.

    A macro that hands its argument on to such a macro is one too, with the front of the macro it calls.
    """

    macro: bytes
    parameter: int
    back: bytes
    file: CxxFile
    front: Token

    @property
    def text(self) -> bytes:
        """The front, as CUDA's names have it."""
        return self.file.text(self.front)

    @property
    def hip_text(self) -> bytes:
        """The front in AMD's form of the macro; empty where AMD's names have no one front."""
        if self.text == DRIVER_PIECE:
            return b"hip"
        fronts = ((hip + self.text[len(cuda) :]) for cuda, hip in _FRONTS.items() if self.text.startswith(cuda))
        return next(fronts, b"")


@dataclass(frozen=True, eq=False)
class GluedName:
    """A call of such a macro: the token of `file` that is glued on, and the name that comes out."""

    gluer: Gluer
    file: CxxFile
    at: int

    @property
    def token(self) -> Token:
        return self.file.code[self.at]

    @property
    def name(self) -> bytes:
        return self.gluer.text + self.file.text(self.token) + self.gluer.back

    @property
    def use(self) -> Use | None:
        """The use of a name of the table that this is."""
        row = find_name(self.name)
        return Use(self.at, self.token, row) if row is not None else None

    @property
    def hip_token(self) -> bytes:
        """What AMD's form of the macro needs glued on for HIP's name; empty where that is not to be had."""
        use, front, back = self.use, self.gluer.hip_text, self.gluer.back
        hip = use.name.hip.encode() if use is not None and self.name not in shims() else b""
        fits = bool(front) and hip.startswith(front) and hip.endswith(back)
        return hip[len(front) : len(hip) - len(back)] if fits else b""


def add_glued(src: CxxFile, unit: Unit, own: frozenset[bytes], naming: Naming, has_one_header: bool) -> None:
    """The names that macros glue together in a file, and the edits of the macros that make them.

    `has_one_header`: a header gives these names their meaning, since the preprocessor looks at what it glued again.
    Elsewhere the macro gets AMD's front, and a call whose name goes on differently in HIP another argument. A macro
    stays as it is, with its finding, where one of its calls makes a name that cannot be had this way.
    """
    if not unit.holds(b"##"):
        return
    for names in _by_front(unit):
        if names[0].gluer.text == DRIVER_PIECE and not any(one.use for one in names):
            continue
        gluer = names[0].gluer
        ours = [one for one in names if one.file.path == src.path and one.name not in own]
        for one in ours:
            _note(src, one, naming)
        misfit = None if has_one_header else next((one for one in names if _is_misfit(one, own)), None)
        if misfit is None and not has_one_header:
            naming.glued += [edits for one in ours if (edits := _edits_of_call(src, one))]
            if gluer.file.path == src.path:
                naming.glued.append((Edit(Span(gluer.front.start, gluer.front.end), gluer.hip_text),))
        if gluer.file.path == src.path:
            _settle(src, gluer, misfit, naming)


def _is_misfit(one: GluedName, own: frozenset[bytes]) -> bool:
    has_no_counterpart = one.use is not None and not one.use.name.hip  # said at the call
    return one.name in own or not (one.hip_token or has_no_counterpart)


def _note(src: CxxFile, one: GluedName, naming: Naming) -> None:
    if one.use is None:
        return
    naming.used[one.use.name.cuda] = one.use.name
    if one.use.name.hip:
        naming.translated += 1
    elif one.name not in shims():
        naming.untranslated += 1
        naming.findings.append(without_counterpart(src, one.use))


def _edits_of_call(src: CxxFile, one: GluedName) -> tuple[Edit, ...]:
    if one.use is None or not one.hip_token:
        return ()
    around = wrapping(src, one.use)
    edits = [Edit(Span(place, place), text) for place, text in around or ()]
    if src.text(one.token) != one.hip_token:
        edits.insert(0, Edit(Span(one.token.start, one.token.end), one.hip_token))
    return tuple(edits)


def _settle(src: CxxFile, gluer: Gluer, misfit: GluedName | None, naming: Naming) -> None:
    """Takes back what is said about the macro, or says which call keeps it from being translated."""
    place = src.line_col(gluer.front.start)
    said = [one for one in naming.findings if one.code == "KP204" and (one.line, one.col) == place]
    naming.findings = [one for one in naming.findings if one not in said]
    if misfit is not None:
        hip = misfit.use.name.hip if misfit.use is not None else ""
        made = f"{misfit.name.decode('latin-1')}, {f'which is {hip} in HIP' if hip else 'which kpt does not know'}"
        front = gluer.text.decode("latin-1")
        message = f"{front} is glued to another token by ##: no front fits all calls, one of them makes {made}"
        naming.findings.append(Finding("KP204", src.path, *place, message, Safety.MANUAL))


def _by_front(unit: Unit) -> tuple[tuple[GluedName, ...], ...]:
    """The names that each front is glued together to."""
    found: dict[tuple[str, int], list[GluedName]] = {}
    for one in _glued_names(unit):
        found.setdefault((one.gluer.file.path, one.gluer.front.start), []).append(one)
    return tuple(map(tuple, found.values()))


@lru_cache(maxsize=1)  # the files of a unit are looked at one after the other
def _glued_names(unit: Unit) -> tuple[GluedName, ...]:
    names: list[GluedName] = []
    pending = [gluer for file in unit.files if file.holds(b"##") for gluer in _gluers_of(file)]
    known = {(gluer.macro, gluer.parameter, gluer.file.path, gluer.front.start) for gluer in pending}
    while pending:
        gluer = pending.pop()
        for file, call in _calls_of(unit, gluer.macro):
            at = _glued_on(file, call, gluer)
            if at is None:
                continue
            outer = _macro_around(file, call.span.start)
            handed_on = _parameter(outer, text_at(file, at)) if outer is not None else None
            if outer is None or handed_on is None:
                names.append(GluedName(gluer, file, at))
                continue
            more = replace(gluer, macro=outer.name, parameter=handed_on)
            key = (more.macro, more.parameter, more.file.path, more.front.start)
            if key not in known:
                known.add(key)
                pending.append(more)
    return tuple(names)


def _gluers_of(file: CxxFile) -> Iterator[Gluer]:
    """The macros of a file with `front##parameter` or `front##parameter##back`."""
    for piece in names_used(file)[1]:
        at = file.code.index_of(piece.token.start, piece.token.end)
        macro = _macro_around(file, piece.token.start)
        if at is None or macro is None or text_at(file, at - 1) == b"##" or not is_compiled(file, piece.token.start):
            continue
        parameter = _parameter(macro, text_at(file, at + 2))
        if text_at(file, at + 1) != b"##" or parameter is None:
            continue
        back = text_at(file, at + 4) if text_at(file, at + 3) == b"##" else b""
        if text_at(file, at + 5) != b"##" and not (back and _parameter(macro, back) is not None):
            yield Gluer(macro.name, parameter, back, file, piece.token)


def _calls_of(unit: Unit, macro: bytes) -> Iterator[tuple[CxxFile, Call]]:
    for file in unit.files:
        if file.holds(macro):
            found = (call for call in calls(file, macro) if text_at(file, call.index - 1)[:1] != b"#")
            yield from ((file, call) for call in found if is_compiled(file, call.span.start))


def _glued_on(file: CxxFile, call: Call, gluer: Gluer) -> int | None:
    """The place in `file.code` of the token that is glued on: an argument's first."""
    if len(call.arguments) <= gluer.parameter:
        return None
    span = call.arguments[gluer.parameter]
    at = bisect_left(file.code.starts, span.start)
    if gluer.back and file.code[at].end != span.end:
        return None
    return at if file.code[at].kind in ("identifier", "number") else None


def _macro_around(file: CxxFile, offset: int) -> Macro | None:
    return next((one for one in macros_of(file) if one.body_start <= offset < one.body_end), None)


def _parameter(macro: Macro, name: bytes) -> int | None:
    """Which parameter of a macro a name is."""
    written = b"..." if name == b"__VA_ARGS__" else name
    parameters = macro.parameters or ()
    return next((at for at, one in enumerate(parameters) if one in (written, name + b"...")), None)
