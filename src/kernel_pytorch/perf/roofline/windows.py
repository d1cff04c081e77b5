"""Windows of attention by layer, out of a model's config.json: no trace has them.

{"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention", ...]}     gpt-oss, Gemma 3, Qwen 3
{"sliding_window": 1024, "sliding_window_pattern": 6}                                    every sixth layer has none
{"sliding_window": 4096}                                                                 all layers
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError

Windows = tuple[int | None, ...]  # by layer; None: attention over all keys


def attention_windows(path: Path) -> Windows:
    """The window of each layer; of one layer, where all have the same."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: not a model's config.json ({error})") from error
    if not isinstance(config, dict):
        raise UsageError(f"{path}: not a model's config.json (an object is expected)")
    nested = config.get("text_config")
    return _windows(nested if isinstance(nested, dict) else config, path)


def _windows(config: dict[str, Any], path: Path) -> Windows:
    window = config.get("sliding_window")
    if window is None or config.get("use_sliding_window") is False:
        return (None,)
    if not isinstance(window, int) or window < 1:
        raise UsageError(f"{path}: sliding_window is {window!r}, not a number of keys")
    kinds, pattern = config.get("layer_types"), config.get("sliding_window_pattern")
    if isinstance(kinds, list) and kinds:
        return tuple(window if kind == "sliding_attention" else None for kind in kinds)
    if isinstance(pattern, int) and pattern > 1:
        return tuple(None if (layer + 1) % pattern == 0 else window for layer in range(pattern))
    return (window,)
