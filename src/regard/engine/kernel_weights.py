"""The weights of a model as native.c reads them: rows of numbers and pointers, with the int8 matrices packed in panels."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from regard.config import ModelConfig
from regard.folder.checkpoint import WEIGHTS
from regard.folder.tensors import SCALE, is_table, tied_names

PANEL = 64  # outputs are filled up to a multiple of this, whatever panels the processor has
_BASE = 10000.0  # of sinusoidal positions


class KernelWeights:
    """What the kernel holds pointers to."""

    def __init__(self, folder: Path, config: ModelConfig, pack: Callable[..., None]) -> None:
        """pack: native.c's function that packs a matrix."""
        self.config, self._pack = config, pack
        self._tensors = load_file(folder / WEIGHTS)
        self._kept: list[np.ndarray] = []
        matrices = (tensor.size for tensor in self._tensors.values() if tensor.dtype == np.int8)
        # One block, for which NumPy asks for huge pages: reading it takes a quarter less time.
        self._room = _aligned(sum(matrices) + PANEL * config.d_model, np.int8)
        self.model = self._numbers(self._model())
        """the address of a Model of native.c"""
        del self._tensors, self._room

    def _model(self) -> list[int]:
        """A Model of native.c."""
        config, ties = self.config, tied_names(self.config)
        is_pre = config.norm_placement == "pre"
        numbers = [config.d_model, config.num_heads, config.d_ff, config.source_vocab_size, config.target_vocab_size]
        floats = np.array([config.norm_epsilon, config.d_model**0.5 if config.scaled_embedding else 1.0])
        numbers += [*config.num_layers, is_pre, config.feed_forward == "silu", *floats.view(np.int64).tolist()]
        names = [ties.get(name, name) for name in ("source.embedding.weight", "target.embedding.weight")]
        numbers += [self._pointer(self._tensors[name + end]) for end in ("", SCALE) for name in names]
        pairs = np.arange(0, config.d_model, 2, dtype=np.float32)
        numbers.append(self._pointer(np.float32(_BASE) ** (-pairs / np.float32(config.d_model))))
        for stack, number in zip(("encoder", "decoder"), config.num_layers, strict=True):
            numbers.append(self._numbers([each for i in range(number) for each in self._layer(stack, i)]))
        for stack in ("encoder", "decoder"):
            numbers += self._norm(f"{stack}.final_norm") if is_pre else [0, 0]
        return numbers + self._linear(ties.get("output.weight", "output.weight"), bias="output.bias")

    def _layer(self, stack: str, i: int) -> list[int]:
        """A Layer of native.c; an encoder's has no cross-attention."""
        parts = ("self_attention", "cross_attention", "feed_forward")
        own, cross, feed = (f"{stack}.layers.{i}.{part}" for part in parts)
        norms, query, memory, output = self._norm(f"{own}.norm"), *([0] * 6 for _ in range(3))
        if stack == "decoder":
            query, output = self._linear(f"{cross}.query.weight"), self._linear(f"{cross}.output.weight")
            memory = self._linear(f"{cross}.key.weight", f"{cross}.value.weight")
        norms += self._norm(f"{cross}.norm") if stack == "decoder" else [0, 0]
        inputs = self._linear(*(f"{own}.{part}.weight" for part in ("query", "key", "value")))
        inputs += self._linear(f"{own}.output.weight")
        inner = self._linear(f"{feed}.hidden.weight") + self._linear(f"{feed}.output.weight")
        return norms + self._norm(f"{feed}.norm") + inputs + query + memory + output + inner

    def _norm(self, name: str) -> list[int]:
        return [self._pointer(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias")]

    def _linear(self, *names: str, bias: str = "") -> list[int]:
        """A Linear of native.c: the maps with these weights, side by side."""
        by_row = is_table(names[0])
        shape = self._tensors[names[0]].shape
        inputs, outputs = shape[by_row], shape[1 - by_row]
        filled = -(-outputs * len(names) // PANEL) * PANEL
        weight, self._room = np.split(self._room, [filled * inputs])
        parts = [weight, *(_aligned(filled, kind) for kind in (np.int32, np.float32, np.float32))]
        linear = [*(self._pointer(part) for part in parts), inputs, filled]
        for i, name in enumerate(names):
            place = slice(i * outputs, (i + 1) * outputs)
            self._pack(self._numbers(linear), self._tensors[name].ctypes.data, outputs, place.start, by_row)
            parts[2][place] = self._tensors[name + SCALE]
            parts[3][place] = self._tensors.get(bias or name.replace(".weight", ".bias"), 0)
        return linear

    def _numbers(self, values: list[int]) -> int:
        return self._pointer(np.array(values, np.int64))

    def _pointer(self, array: np.ndarray) -> int:
        assert array.flags.c_contiguous
        self._kept.append(array)
        return array.ctypes.data


def _aligned(count: int, kind: type[np.generic]) -> np.ndarray:
    """Zeros that begin with a line of the processor's cache."""
    size = np.dtype(kind).itemsize
    memory = np.zeros(count * size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + count * size].view(kind)
