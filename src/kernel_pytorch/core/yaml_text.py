"""YAML of a stranger's: thirty lines with aliases can stand for more entries than there are atoms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

MOST_ENTRIES = 100_000
MOST_LEVELS = 200


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a document. Raises yaml.YAMLError for what is none, and for what is too much."""
    import yaml

    return next(_nodes(yaml.SafeLoader(text)), None)


def load_yaml(text: str) -> list[Any]:
    """The values of all documents. Raises as `compose_yaml` does."""
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        return [loader.construct_document(node) for node in _nodes(loader)]
    except (ValueError, TypeError, RecursionError) as error:  # a date that is none, a key that is a list
        raise yaml.YAMLError(f"not a value: {error}") from error


def _nodes(loader: yaml.SafeLoader) -> Iterator[yaml.Node]:
    import yaml

    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                _entries(node, {}, 0)
                yield node
    except RecursionError as error:
        raise yaml.YAMLError("nested too deeply") from error


def _entries(node: yaml.Node, known: dict[int, int], level: int) -> int:
    """How many nodes it is with every alias written out."""
    import yaml

    if level > MOST_LEVELS or known.get(id(node)) == 0:  # 0: one that we are in
        raise yaml.YAMLError("nested too deeply")
    if id(node) not in known:
        known[id(node)] = 0
        below: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            below = list(node.value)
        elif isinstance(node, yaml.MappingNode):
            below = [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_entries(part, known, level + 1) for part in below)
    if known[id(node)] > MOST_ENTRIES:
        raise yaml.YAMLError(f"more than {MOST_ENTRIES} entries with its aliases written out")
    return known[id(node)]
