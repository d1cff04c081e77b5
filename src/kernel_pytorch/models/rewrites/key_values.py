"""Keys and values of every attention of a decoder, in tensors that are made once and written in place."""

from __future__ import annotations

import copy
from typing import Any


class KeyValueStore:
    """Room for `length` tokens. A call writes at `position`, so that the same call again changes nothing.

    Has the methods of a cache that models of the transformers library call; for models without a cache attention is
    rewritten to use it.
    """

    is_compileable = True

    def __init__(self, length: int) -> None:
        self.length = length
        self.position: Any = None
        self.seen: Any = None
        """(new tokens, length): which places each new token sees."""
        self.keys: list[Any] = []
        self.values: list[Any] = []

    def update(self, key_states: Any, value_states: Any, layer_idx: int = 0, *args: Any, **kwargs: Any) -> Any:
        """Write the keys and values of new tokens; give back those of all places."""
        if layer_idx >= len(self.keys):
            self._reserve(layer_idx, key_states, value_states)
        keys, values = self.keys[layer_idx], self.values[layer_idx]
        keys.index_copy_(2, self.position, key_states)
        values.index_copy_(2, self.position, value_states)
        return keys, values

    def get_seq_length(self, layer_idx: int = 0) -> Any:
        """The number of tokens before this call."""
        return self.position[0]

    def forget(self) -> None:
        """Drop the tensors; the next call makes new ones, on the device it runs on."""
        self.keys.clear()
        self.values.clear()
        self.position = self.seen = None

    def __deepcopy__(self, memo: dict[int, Any]) -> KeyValueStore:
        made = KeyValueStore(self.length)
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __getstate__(self) -> dict[str, Any]:
        # What is saved is the model; rewritten forwards are not saved either.
        return {**self.__dict__, "position": None, "seen": None, "keys": [], "values": []}

    def _reserve(self, place: int, key: Any, value: Any) -> None:
        import torch

        assert place == len(self.keys), "attention calls come in another order than before"
        with torch.inference_mode(False), torch.no_grad():
            for store, like in ((self.keys, key), (self.values, value)):
                made = like.new_zeros((*like.shape[:2], self.length, like.shape[3]))
                if made.is_cuda and not torch.compiler.is_compiling():
                    torch._dynamo.mark_static_address(made)
                store.append(made)
