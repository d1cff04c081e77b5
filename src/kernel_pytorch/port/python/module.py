"""A Python file as the rules see it: syntax tree, byte spans, names resolved through imports, gates known."""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.python.gates import both_ways, rocm_value
from kernel_pytorch.port.python.scopes import Scope, build_scopes
from kernel_pytorch.port.source import SourceFile

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, eq=False)
class PythonModule:
    """A parsed file. `package` is its dotted package inside the project, which relative imports count from."""

    src: SourceFile
    tree: ast.Module
    package: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.src.data))]

    @cached_property
    def _scopes(self) -> dict[ast.AST, Scope]:
        return build_scopes(self.tree, self.package)

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a position as `ast` gives it: lines from 1, columns in UTF-8 bytes."""
        # The parser does not count a byte order mark, which the file has.
        shift = len(_BOM) if line == 1 and self.src.data.startswith(_BOM) else 0
        return self._line_starts[line - 1] + column + shift

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg | ast.alias) -> Span:
        """The bytes of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return Span(self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset))

    def text(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> bytes:
        """The source of a node, as written."""
        span = self.span(node)
        return self.src.data[span.start : span.end]

    def line_span(self, line: int) -> Span:
        """A whole line, its end included."""
        starts = self._line_starts
        return Span(starts[line - 1], starts[line] if line < len(starts) else len(self.src.data))

    def indent(self, line: int) -> bytes:
        """The white space a line starts with."""
        span = self.line_span(line)
        match = re.match(rb"[ \t]*", self.src.data[span.start : span.end])
        return match.group() if match else b""

    @cached_property
    def newline(self) -> bytes:
        """The file's own line end."""
        match = _LINE_END.search(self.src.data)
        return match.group() if match else b"\n"

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        current = self._parents.get(node)
        while current is not None:
            yield current
            current = self._parents.get(current)

    def scope(self, node: ast.AST) -> Scope:
        """The scope a node lies in."""
        for parent in (node, *self.parents(node)):
            # A function's decorators, defaults and bases belong to the scope around it.
            if parent in self._scopes and (parent is not node):
                return self._scopes[parent]
        return self._scopes[self.tree]

    def qualified(self, node: ast.expr) -> str | None:
        """`torch.compile` for any spelling that means it through imports; None for what is not imported."""
        parts: list[str] = []
        current = node
        while isinstance(current, ast.Attribute):
            parts.append(current.attr)
            current = current.value
        if not isinstance(current, ast.Name):
            return None
        base = self.scope(current).resolve(current.id)
        return ".".join([base, *reversed(parts)]) if base is not None else None

    @cached_property
    def _calls(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name = self.qualified(node.func)
                if name is not None:
                    found.setdefault(name, []).append(node)
        return found

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of functions by their dotted names, wherever ROCm gets to."""
        for name in names:
            for call in self._calls.get(name, ()):
                if self.reached_on_rocm(call):
                    yield call

    def calls_and_partials(self, *names: str) -> Iterator[ast.Call]:
        """Like `calls`, and `functools.partial(f, ...)` of the same functions: keywords mean the same in both."""
        yield from self.calls(*names)
        for call in self.calls("functools.partial"):
            if call.args and self.qualified(call.args[0]) in names:
                yield call

    @cached_property
    def import_statements(self) -> list[tuple[ast.Import | ast.ImportFrom, list[str]]]:
        """Every absolute import, with the modules it names."""
        found: list[tuple[ast.Import | ast.ImportFrom, list[str]]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.append((node, [alias.name for alias in node.names]))
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.append((node, [node.module or ""]))
        return found

    def imports(self, *modules: str) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
        """Import statements of the given modules or anything below them, wherever ROCm gets to."""
        below = tuple(f"{module}." for module in modules)
        for node, names in self.import_statements:
            for name in names:
                if (name in modules or name.startswith(below)) and self.reached_on_rocm(node):
                    yield node, name

    def is_import_guarded(self, node: ast.AST) -> bool:
        """Inside the body of a `try` that catches ImportError (or everything)."""
        child = node
        for parent in self.parents(node):
            if isinstance(parent, ast.Try) and child in parent.body and any(map(catches_import_error, parent.handlers)):
                return True
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                return False
            child = parent
        return False

    @cached_property
    def is_for_nvidia_alone(self) -> bool:
        """A file in a language or for an engine of NVIDIA's: it is imported at the top, without a way around.

        KP510 says so; nothing else about the file matters on ROCm.
        """
        top = (node for node in self.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
        named = (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for node in top
            if isinstance(node, ast.Import) or not node.level
        )
        return any(name.split(".")[0] in _NVIDIA_LANGUAGES for names in named for name in names)

    def is_type_checking_only(self, node: ast.AST) -> bool:
        """Under `if TYPE_CHECKING:`, which never runs."""
        return any(
            isinstance(parent, ast.If) and "TYPE_CHECKING" in ast.unparse(parent.test) for parent in self.parents(node)
        )

    @cached_property
    def _own_gates(self) -> dict[str, bool]:
        """Names that the file itself sets to a gate, at its top or, once in the file, in a function.

        `HIP_BUILD = bool(torch.version.hip)`, `use_cuda = torch.version.cuda and CUDA_HOME is not None`.
        """
        found: dict[str, bool] = {}
        if b"version" not in self.src.data:
            return found
        times: dict[str, int] = {}
        for node in ast.walk(self.tree):
            name = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None
            name = node.arg if isinstance(node, ast.arg) else name
            if name is not None:
                times[name] = times.get(name, 0) + 1
        top = set(map(id, self.tree.body))
        for statement in ast.walk(self.tree):
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            name = statement.targets[0].id
            value = rocm_value(statement.value)
            if value is not None and (times[name] == 1 or id(statement) in top):
                found[name] = value
        return found

    def gate_value(self, test: ast.expr) -> bool | None:
        """What a condition is on ROCm, the file's own names for it followed; None where it says nothing about ROCm."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.gate_value(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            return both_ways([self.gate_value(item) for item in test.values], isinstance(test.op, ast.Or))
        if isinstance(test, ast.Name) and test.id in self._own_gates:
            return self._own_gates[test.id]
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            vendor = vendor_word(test)
            return _vendor_by_name(test) if vendor is None else vendor == "amd"
        return rocm_value(test)

    def reached_on_rocm(self, node: ast.AST) -> bool:
        """False behind a gate that ROCm does not pass: such code needs no rewrite."""
        child: ast.AST = node
        for parent in self.parents(node):
            if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
                value = self.gate_value(parent.test)
                orelse = parent.orelse if isinstance(parent.orelse, list) else [parent.orelse]
                if value is not None and (child in orelse) is value:
                    return False
            if isinstance(parent, ast.BoolOp) and self._shut_off(parent, child):
                return False
            if self._after_early_exit(parent, child):
                return False
            if isinstance(parent, ast.FunctionDef) and parent.name.startswith("_") and self._is_never_called(parent):
                return False
            child = parent
        return True

    def _shut_off(self, node: ast.BoolOp, child: ast.AST) -> bool:
        """`not is_rocm and X`: X is not evaluated on ROCm."""
        stops = isinstance(node.op, ast.Or)
        for item in node.values:
            if item is child:
                return False
            if self.gate_value(item) is stops:
                return True
        return False

    def _after_early_exit(self, parent: ast.AST, child: ast.AST) -> bool:
        """Behind `if is_rocm: return ...` in the same block."""
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if not isinstance(block, list) or child not in block:
                continue
            for statement in block[: block.index(child)]:
                leaves = isinstance(statement, ast.If) and isinstance(statement.body[-1], _EXITS)
                if leaves and isinstance(statement, ast.If) and self.gate_value(statement.test) is True:
                    return True
        return False

    @cached_property
    def _uses_of_functions(self) -> dict[str, list[ast.AST]]:
        """Where the file's own private functions are named, so that it can be told who calls them."""
        found: dict[str, list[ast.AST]] = {
            node.name: [] for node in self.tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("_")
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id in found:
                found[node.id].append(node)
        return found

    @cached_property
    def _never_called(self) -> dict[str, bool]:
        return {}

    def _is_never_called(self, function: ast.FunctionDef) -> bool:
        """A private function of the file that is only named where ROCm does not get to."""
        if function not in self.tree.body:
            return False
        known = self._never_called
        if function.name not in known:
            known[function.name] = False  # while its callers are looked at: it may call itself
            uses = self._uses_of_functions[function.name]
            known[function.name] = bool(uses) and not any(map(self.reached_on_rocm, uses))
        return known[function.name]


_NVIDIA_LANGUAGES = frozenset({"cutlass", "tensorrt", "tensorrt_llm"})
_EXITS = (ast.Return, ast.Raise, ast.Continue)
_VENDOR_WORDS = {
    "nvidia": "nvidia", "geforce": "nvidia", "tesla": "nvidia", "quadro": "nvidia",
    "amd": "amd", "advanced micro devices": "amd", "radeon": "amd", "instinct": "amd",
}  # fmt: skip


def vendor_word(test: ast.expr) -> str | None:
    """`"nvidia" in gpu_name.lower()`: "nvidia" or "amd" where a device's name is asked for a vendor, else None."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.In):
        return None
    word = test.left.value if isinstance(test.left, ast.Constant) else None
    asked = ast.unparse(test.comparators[0]).lower()
    if not isinstance(word, str) or not re.search(r"(?:device|gpu|vendor|card|prop\w*)\w*(?:\(.*?\))?[._]?name", asked):
        return None
    return _VENDOR_WORDS.get(word.strip().lower())


def _vendor_by_name(test: ast.Compare) -> bool | None:
    """`SYSTEM == "rocm"`. A device or a back end is not a vendor: those are called "cuda" on ROCm too."""
    right = test.comparators[0]
    name = ast.unparse(test.left).lower()
    if not (isinstance(right, ast.Constant) and isinstance(right.value, str)) or "device" in name:
        return rocm_value(test)
    if not re.search(r"(?:^|[._])(?:system|platform|vendor|gpu_type)(?:_?name)?$", name):
        return None
    on_rocm = right.value.lower() in ("rocm", "hip", "amd")
    other = right.value.lower() in ("cuda", "nvidia", "ipex", "xpu", "hpu", "npu", "tpu", "mps", "intel")
    if not isinstance(test.ops[0], (ast.Eq, ast.NotEq)) or not (on_rocm or other):
        return None
    return on_rocm is isinstance(test.ops[0], ast.Eq)


def catches_import_error(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for a failed import, by name or because it takes everything."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {kind.id for kind in kinds if isinstance(kind, ast.Name)}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


# A tree is some fifty times its source, and memory must not grow with the project: of the files looked at last, and of
# those that their values were followed into, as many are kept as have this much source together.
_KEPT_BYTES = 400_000
_kept: OrderedDict[SourceFile, PythonModule | None] = OrderedDict()


def python_module(src: SourceFile) -> PythonModule | None:
    """The parsed file, or None where Python itself cannot parse it (or it is not UTF-8)."""
    if src in _kept:
        _kept.move_to_end(src)
        return _kept[src]
    _kept[src] = parse_module(src)
    while len(_kept) > 1 and sum(len(one.data) for one in _kept) > _KEPT_BYTES:
        _kept.popitem(last=False)
    return _kept[src]


def parse_module(src: SourceFile) -> PythonModule | None:
    """Like `python_module`, and nothing is kept."""
    try:
        src.data.decode("utf-8")
        tree = ast.parse(src.data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return PythonModule(src, tree, _package(src.path))


def _package(path: str) -> str:
    parts = [part for part in PurePosixPath(path).parts[:-1] if part not in (".", "..", "/", "src")]
    return ".".join(parts)
