"""The engine for int8 translation models on x86-64: a kernel in C, `native.c`, if it was compiled.

    python -m regard.engine.native

compiles it with the C compiler at hand, as building a wheel and an editable install do. It is optional: without it, on another
processor, for another architecture and with REGARD_NATIVE=0 onnxruntime runs the graphs. See docs/decisions/009-native-kernel.md.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from regard.config import ModelConfig
from regard.decode.beam import Stretch, Taken
from regard.decode.interface import State
from regard.engine import Precision, compiler, pad
from regard.engine.cache import FIRST_CAPACITY, BlockPool, Cache, CacheHolder, outputs_of
from regard.engine.kernel_weights import PANEL, KernelWeights
from regard.errors import ModelError, UsageError
from regard.folder.checkpoint import check_weights
from regard.folder.manifest import Manifest

MAX_PLACES = 256
"""tokens read in one pass"""
CALL = (
    "encodes rows length sentences num_keys num_cached capacity position count tokens lengths cache_rows source_rows "
    "cross cache best_values log_probabilities attention best_tokens"
).split()
"""fields of a Call of native.c; every field of its structures has 8 bytes"""
BEAMS = "sources most eos num_excluded taken slots excluded floors alike parents tokens rows totals values".split()
"""fields of its Beams"""
_POSITION, _TAKEN = CALL.index("position"), BEAMS.index("taken")
_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64


def covers(config: ModelConfig) -> bool:
    """Whether the kernel runs a model: the paper's Transformer or Marian's, whose widths fill whole registers."""
    return (
        config.architecture == "encoder-decoder"
        and (config.norm, config.position) == ("layer", "sinusoidal")
        and config.feed_forward in ("relu", "silu")
        and not (config.embedding_norm or config.d_k)
        and config.d_model % PANEL == config.d_ff % PANEL == config.head_dim % 16 == 0
    )


def open_kernel(folder: str | Path, manifest: Manifest, threads: int, precision: Precision) -> Kernel | None:
    """The kernel over an int8 folder, or None where onnxruntime must run it."""
    in_int8 = manifest.weights == "int8" and precision != "fp32"
    if not (in_int8 and covers(manifest.model) and (path := compiler.chosen())):
        return None
    check_weights(folder, manifest)
    library = _library(path)
    return Kernel(library, KernelWeights(Path(folder), manifest.model, library.regard_pack), manifest.model, threads)


def _library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.regard_open.restype, library.regard_open.argtypes = _POINTER, [_POINTER, ctypes.c_int]
    library.regard_pack.argtypes = [_POINTER, _POINTER, _NUMBER, _NUMBER, _NUMBER]
    library.regard_close.argtypes, library.regard_run.argtypes = [_POINTER], [_POINTER] * 2
    library.regard_search.argtypes = [_POINTER] * 3
    return library


@dataclass(frozen=True, slots=True)
class KernelSources:
    """What the decoder reads of the sources."""

    cross: np.ndarray
    """[layer and key or value, sentence, head, key, feature]"""
    lengths: np.ndarray


@dataclass(slots=True)
class KernelState(CacheHolder):
    """The state of a search: which rows of the cache and of the sources a row reads. Selecting moves nothing."""

    position: int
    cache: Cache | None
    rows: list[int]
    sources: KernelSources
    sentences: list[int]
    attention: np.ndarray | None
    wants_attention: bool

    def select(self, indices: np.ndarray) -> KernelState:
        wanted: list[int] = np.asarray(indices).tolist()
        rows, sentences = [self.rows[index] for index in wanted], [self.sentences[index] for index in wanted]
        attention = None if self.attention is None else self.attention[wanted]
        return KernelState(self.position, self.cache, rows, self.sources, sentences, attention, self.wants_attention)

    def after(self, position: int, cache: Cache, rows: list[int], attention: np.ndarray | None) -> KernelState:
        return KernelState(position, cache, rows, self.sources, self.sentences, attention, self.wants_attention)


class KernelCall:
    """A pass over so many rows of a cache, with its arrays; a run overwrites the outputs."""

    def __init__(
        self, config: ModelConfig, cache: Cache, state: KernelState, key: tuple[str, int, int, int, bool]
    ) -> None:
        wanted, rows, length, count, wants_attention = self.key = key
        self.sources, places, num_keys = state.sources, rows * length, state.sources.cross.shape[3]
        self.outputs = outputs_of(wanted, places, count, config.target_vocab_size)
        if wants_attention:
            self.outputs["attention"] = np.empty((places, config.num_heads, num_keys), np.float32)
        self.tokens = np.zeros((rows, length), np.int64)
        self.cache_rows, self.source_rows = np.zeros((2, rows), np.int64)
        sizes = dict(rows=rows, length=length, sentences=len(self.sources.lengths), num_keys=num_keys)
        arrays = dict(tokens=self.tokens, cache_rows=self.cache_rows, source_rows=self.source_rows)
        arrays |= dict(lengths=self.sources.lengths, cross=self.sources.cross, cache=cache.block.array, **self.outputs)
        sizes |= dict(num_cached=cache.num_rows, capacity=cache.capacity, count=count)
        self.call = make_numbers(CALL, arrays, **sizes)
        self.address = self.call.ctypes.data


def make_numbers(names: Sequence[str], arrays: dict[str, np.ndarray], **sizes: int) -> np.ndarray:
    """A structure of native.c with these fields."""
    assert all(array.flags.c_contiguous for array in arrays.values())
    fields = sizes | {name: array.ctypes.data for name, array in arrays.items()}
    return np.array([fields.get(name, 0) for name in names], np.int64)


class Kernel:
    """The step interface over the weights as the kernel reads them."""

    normalised, quantized, device = True, True, None

    def __init__(self, library: ctypes.CDLL, weights: KernelWeights, config: ModelConfig, threads: int) -> None:
        self.config, self._library, self._weights, self._threads = config, library, weights, threads
        self._run, self._search, self._close = library.regard_run, library.regard_search, library.regard_close
        self._pool = library.regard_open(weights.model, threads)
        if not self._pool:
            raise ModelError("the model needs more memory than there is: use a smaller one")
        self._blocks = BlockPool(config.num_decoder_layers, config.num_heads, config.head_dim)

    @functools.cached_property
    def copies(self) -> list[Kernel]:
        """One for each thread, over the same weights: searches in several threads need no barrier at every step."""
        return [Kernel(self._library, self._weights, self.config, 1) for _ in range(self._threads)]

    def __del__(self) -> None:
        if getattr(self, "_pool", None):
            self._close(self._pool)

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> KernelState:
        tokens, lengths = pad(sources, self.config.pad_id)
        rows, length = tokens.shape
        shape = 2 * self.config.num_decoder_layers, rows, self.config.num_heads, length, self.config.head_dim
        read = KernelSources(np.empty(shape, np.float32), lengths)
        arrays = dict(tokens=tokens, lengths=lengths, cross=read.cross)
        call = make_numbers(CALL, arrays, encodes=1, rows=rows, length=length, sentences=rows, num_keys=length)
        self._call(self._run, call.ctypes.data)
        each = list(range(rows))
        return KernelState(0, None, each, read, each, None, attention)

    def step(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, KernelState]:
        outputs, newer = self._pass(np.asarray(tokens)[:, None], cast(KernelState, state), "log_probabilities")
        return outputs["log_probabilities"].copy(), newer

    def step_best(
        self, tokens: Sequence[int], state: State, count: int, stretch: Stretch | None = None
    ) -> tuple[list[Taken], list[list[float]], list[list[int]], KernelState]:
        """The largest log-probabilities of each row and their tokens, best first; of a stretch, those of its last step."""
        state, count = cast(KernelState, state), min(count, self.config.target_vocab_size)
        inputs = np.asarray(tokens)[:, None]
        if stretch is None:
            outputs, newer = self._pass(inputs, state, "best", count)
            return [], outputs["best_values"].tolist(), outputs["best_tokens"].tolist(), newer
        step, cache = self._prepared(inputs, state, "best", count)
        # The search overwrites rows of the cache, which another state may read.
        is_alone = cache.num_holders <= (state.cache is cache)
        most = min(stretch.most, MAX_PLACES // len(tokens) + 1, cache.capacity - state.position) if is_alone else 1
        parents, chosen, (rows, *_) = np.empty((3, most, len(tokens)), np.int64)
        values, totals = np.empty((most, len(tokens)), np.float32), np.empty((most + 1, len(tokens)))
        totals[0], slots, excluded = stretch.totals, np.array(stretch.slots), np.array(stretch.excluded, np.int64)
        arrays = dict(slots=slots, excluded=excluded, floors=np.array(stretch.floors), alike=cache.alike, rows=rows)
        arrays |= dict(parents=parents, tokens=chosen, values=values, totals=totals)
        sizes = dict(sources=len(slots), most=most, eos=self.config.eos_id, num_excluded=len(excluded))
        beams = make_numbers(BEAMS, arrays, **sizes)
        self._call(self._search, step.address, beams.ctypes.data)
        cache.filled = position = int(step.call[_POSITION])
        taken = zip(*(each[: beams[_TAKEN]].tolist() for each in (parents, chosen, values)), strict=True)
        values, best = step.outputs["best_values"].tolist(), step.outputs["best_tokens"].tolist()
        return list(taken), values, best, state.after(position, cache, step.cache_rows.tolist(), None)

    def read(self, tokens: np.ndarray, following: np.ndarray, state: State) -> tuple[np.ndarray, KernelState]:
        """Many steps in one: for tokens [rows, length], the log-probabilities of the `following` tokens."""
        state = cast(KernelState, state)
        values, at_once = np.empty(tokens.shape), max(1, MAX_PLACES // len(tokens))
        for begin in range(0, tokens.shape[1], at_once):
            part = slice(begin, begin + at_once)
            outputs, state = self._pass(tokens[:, part], state, "log_probabilities")
            found = outputs["log_probabilities"].reshape(*tokens[:, part].shape, -1)
            values[:, part] = np.take_along_axis(found, following[:, part, None], axis=2)[..., 0]
        return values, state

    def _pass(
        self, tokens: np.ndarray, state: KernelState, wanted: str, count: int = 1
    ) -> tuple[dict[str, np.ndarray], KernelState]:
        """The outputs, until the next pass; and the newer state."""
        num_rows, length = tokens.shape
        step, cache = self._prepared(tokens, state, wanted, count)
        self._call(self._run, step.address)
        cache.filled = position = state.position + length
        seen = step.outputs.get("attention")
        if seen is not None:
            seen = seen.mean(axis=1).reshape(num_rows, length, -1)[:, -1]
        return step.outputs, state.after(position, cache, step.cache_rows.tolist(), seen)

    def _prepared(self, tokens: np.ndarray, state: KernelState, wanted: str, count: int) -> tuple[KernelCall, Cache]:
        """A call that reads these tokens, and the cache it writes."""
        cache, rows = self._writable(state, tokens.shape[1])
        key = wanted, *tokens.shape, count, state.wants_attention
        step: KernelCall | None = cache.block.call
        if step is None or step.key != key or step.sources is not state.sources:
            step = cache.block.call = KernelCall(self.config, cache, state, key)
        step.tokens[:], step.cache_rows[:], step.source_rows[:] = tokens, rows, state.sentences
        step.call[_POSITION] = state.position
        return step, cache

    def _writable(self, state: KernelState, room: int) -> tuple[Cache, list[int]]:
        """A cache that is filled up to the state's position, and its row of each row."""
        cache, rows = state.cache, state.rows
        if cache is None:
            cache = Cache(self._blocks, state.sentences, max(FIRST_CAPACITY, room))
            return cache, list(range(len(rows)))
        if cache.filled == state.position and cache.capacity >= state.position + room:
            if len(set(rows)) == len(rows):
                return cache, rows
            # Only this state holds it: rows that it dropped may be overwritten.
            if cache.num_holders == 1 and len(rows) <= cache.num_rows:
                return cache, cache.spread(rows, state.position)
        return cache.moved(state.sentences, rows, state.position, room), list(range(len(rows)))

    def _call(self, function: Callable[..., int], *addresses: int) -> None:
        if function(self._pool, *addresses):
            raise MemoryError("a token outside the vocabulary, or not enough memory for this batch")


if __name__ == "__main__":
    try:
        print(*compiler.compile_kernel(), sep="\n")
    except UsageError as mistake:
        sys.exit(str(mistake))
