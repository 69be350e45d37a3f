"""The onnxruntime engine: a model folder's graphs on the CPU, without torch.

The encoder's output is stored once a sentence, whatever the number of its hypotheses. Keys and values of the
tokens so far are written in place (`cache`), and inputs and outputs are bound to the graph once, so that a step
costs little more than the graph itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from regard.config import ModelConfig
from regard.decode.beam import Taken
from regard.decode.interface import State
from regard.engine import Precision, pad
from regard.engine.cache import FIRST_CAPACITY, BlockPool, Cache, CacheHolder, outputs_of
from regard.engine.graphs import MEMORY, Graphs, is_x86

MAX_PLACES = 256  # tokens of one row read in one pass: their scores fit into the processor's cache


CallKey = tuple[str, int, int, tuple[int, ...] | None]
"""what is wanted, length, number of best tokens, and the sources' shape if their attention is wanted"""


@dataclass(frozen=True)
class Sources:
    """The encoder's outputs, one sentence a row."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    longest: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """[sentences, 1, 1, keys]"""
        return self.arrays["source_bias"].shape

    def select(self, sentences: np.ndarray) -> Sources:
        return Sources({name: array[sentences] for name, array in self.arrays.items()}, self.longest)


class Call:
    """A pass over the decoder's graph with all its inputs and outputs bound.

    Write the tokens before a run; a run overwrites the outputs.
    """

    def __init__(self, session: Any, config: ModelConfig, cache: np.ndarray, state: OnnxState, key: CallKey) -> None:
        wanted, length, count, shape = self.key = key
        rows, places = state.num_rows, state.num_rows * length
        self.tokens, self.positions = np.zeros((rows, length), np.int64), np.zeros(length, np.int64)
        self._last, self._total = np.zeros(rows, np.int32), np.zeros(1, np.int32)
        self.outputs = outputs_of(wanted, places, count, config.target_vocab_size)
        if shape:
            queries = config.num_heads, places // shape[0]
            self.outputs["attention"] = np.empty((shape[0], *queries, shape[3]), np.float32)
        self._inputs = {"places": np.arange(places), "count": np.array([count])}  # must live as long as they are bound
        self._inputs |= dict(tokens=self.tokens, positions=self.positions, last=self._last, total=self._total)
        self._session, self._binding = session, session.io_binding()
        for name, array in self._inputs.items():
            _bind(self._binding.bind_input, name, array)
        self.read_from(state.sources)
        for index, array in enumerate(cache):
            name = f"{('key', 'value')[index % 2]}.{index // 2}"
            _bind(self._binding.bind_input, name, array)
            _bind(self._binding.bind_output, f"new_{name}", array)
        for name, array in self.outputs.items():
            _bind(self._binding.bind_output, name, array)

    def read_from(self, sources: Sources) -> None:
        self.sources = sources
        for name, array in sources.arrays.items():
            _bind(self._binding.bind_input, name, array)

    def run(self, position: int) -> None:
        """Read the tokens, which begin at this position."""
        length = len(self.positions)
        self.positions[:] = position if length == 1 else range(position, position + length)
        self._last.fill(position + length - 1)
        self._total.fill(position + length)
        self._session.run_with_iobinding(self._binding)


def _bind(way: Callable[..., None], name: str, array: np.ndarray) -> None:
    assert array.flags.c_contiguous
    way(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)


@dataclass(slots=True)
class OnnxState(CacheHolder):
    """The state of a search, never changed once it is made (but not frozen: that would cost time)."""

    position: int
    cache: Cache | None  # Keys and values of the tokens so far; None before the first.
    rows: list[int]  # The cache's row of each row: a new order moves nothing.
    sources: Sources  # Of `sentences`.
    sentences: list[int]
    """The sentences that still have rows; each has `width` rows of the cache, of which some may be unused."""
    width: int
    sentence_of: list[int]  # For each row, its sentence in `all_sources`.
    all_sources: Sources
    is_even: bool  # Whether the cache must have an even number of rows; see `OnnxEngine.start`.
    attention: np.ndarray | None = None
    wants_attention: bool = False

    @property
    def num_rows(self) -> int:
        """Of the cache."""
        return len(self.sentences) * self.width

    @property
    def cached(self) -> list[int]:
        """The place of its sentence, for each row of the cache."""
        return [place for place in range(len(self.sentences)) for _ in range(self.width)]

    def select(self, indices: np.ndarray) -> OnnxState:
        """A sentence that loses some of its rows keeps their places, unused: less work than moving all others."""
        wanted: list[int] = np.asarray(indices).tolist()
        chosen = [self.sentence_of[index] for index in wanted]
        counts = Counter(chosen)
        width = max(self.width, *counts.values())
        width += self.is_even and width > 1 and width % 2
        sentences = list(counts)
        if self.is_even and width == 1 and len(sentences) % 2:
            sentences.append(sentences[-1])
        is_same = sentences == self.sentences
        sources = self.sources if is_same else self.all_sources.select(np.array(sentences))
        rows = [self.rows[index] for index in wanted]
        attention = None if self.attention is None else self.attention[wanted]
        of_rows: dict[str, Any] = dict(rows=rows, sentence_of=chosen, attention=attention)
        return replace(self, sources=sources, sentences=sentences, width=width, **of_rows)

    def places(self) -> tuple[list[int], list[int]]:
        """For each row of a new cache the row it continues, and the new cache's row of each row."""
        order: list[int] = []
        places = [0] * len(self.rows)
        of: dict[int, list[int]] = {}
        for index, sentence in enumerate(self.sentence_of):
            of.setdefault(sentence, []).append(index)
        for sentence in self.sentences:
            own = of[sentence]
            for index in own:
                places[index] = len(order) + own.index(index)
            order += [self.rows[index] for index in own] + [self.rows[own[-1]]] * (self.width - len(own))
        return order, places


class OnnxEngine:
    """The step interface over encoder.onnx and decoder.onnx."""

    normalised = True

    def __init__(self, folder: str | Path, threads: int | None = None, precision: Precision = "auto") -> None:
        graphs = Graphs(folder, threads, precision)
        self.config, self.quantized = graphs.config, graphs.quantized
        self.device = None
        self._encoder: Any = None
        seen: set[str] = set()
        if self.config.has_encoder:
            self._encoder = graphs.open("encoder", {"tokens", "lengths"})
            # The vectors of the tokens themselves serve search.
            seen = {output.name for output in self._encoder.get_outputs()} - {MEMORY}
        layers = range(self.config.num_decoder_layers)
        past = {f"{part}.{i}" for i in layers for part in ("key", "value")}
        self._cross_inputs = sorted(seen)
        own = {"tokens", "positions", "last", "total", "places", "count"}
        self._decoder: Any = graphs.open("decoder", {*own, *past, *seen})
        width = next(each for each in self._decoder.get_inputs() if each.name == "key.0").shape[3]
        self._in_pairs = self.quantized and is_x86()
        self._pool = BlockPool(self.config.num_decoder_layers, self.config.num_key_heads, width)

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> OnnxState:
        read = Sources()
        if self._encoder is not None:
            tokens, lengths = pad(sources, self.config.pad_id)
            values = self._encoder.run(self._cross_inputs, {"tokens": tokens, "lengths": lengths})
            read = Sources(dict(zip(self._cross_inputs, values, strict=True)), tokens.shape[1])
        wanted = attention and self._encoder is not None
        each = list(range(len(sources)))
        # On x86-64 rows are multiplied in pairs, and a last single row is summed in another order.
        is_even = self._in_pairs and self._encoder is not None
        state = OnnxState(0, None, each, read, each, 1, each, read, is_even, wants_attention=wanted)
        return state.select(np.array(each)) if is_even and len(each) % 2 else state

    def step(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, OnnxState]:
        rows = np.asarray(tokens)[:, None]
        outputs, newer = self._pass(rows, cast(OnnxState, state), "log_probabilities")
        return outputs["log_probabilities"][newer.rows], newer

    def step_best(
        self, tokens: Sequence[int], state: State, count: int, stretch: object = None
    ) -> tuple[list[Taken], list[list[float]], list[list[int]], OnnxState]:
        """A step that returns only the largest log-probabilities of each row and their tokens, best first."""
        count = min(count, self.config.target_vocab_size)
        rows = np.asarray(tokens)[:, None]
        outputs, newer = self._pass(rows, cast(OnnxState, state), "best", count)
        values, best = outputs["best_values"].tolist(), outputs["best_tokens"].tolist()
        return [], [values[row] for row in newer.rows], [best[row] for row in newer.rows], newer

    def read(self, tokens: np.ndarray, following: np.ndarray, state: State) -> tuple[np.ndarray, OnnxState]:
        """Many steps in one: for tokens [rows, length], the log-probabilities of the `following` tokens."""
        state = cast(OnnxState, state)
        num_rows, length = tokens.shape
        values = np.empty((num_rows, length))
        begin = 0
        while begin < length:
            # The attention kernel takes several tokens of several rows only at the start.
            at_once = MAX_PLACES if state.num_rows == 1 else length if state.position == 0 else 1
            end = min(begin + at_once, length)
            outputs, state = self._pass(tokens[:, begin:end], state, "log_probabilities")
            found = outputs["log_probabilities"].reshape(state.num_rows, -1, self.config.target_vocab_size)
            wanted = following[:, begin:end, None]
            values[:, begin:end] = np.take_along_axis(found[state.rows], wanted, axis=2)[..., 0]
            begin = end
        return values, state

    def _pass(
        self, tokens: np.ndarray, state: OnnxState, wanted: str, count: int = 1
    ) -> tuple[dict[str, np.ndarray], OnnxState]:
        """The outputs in the order of the cache's rows, until the next pass; and the newer state."""
        length = tokens.shape[1]
        cache, rows = self._writable(state, length)
        key = wanted, length, count, state.sources.shape if state.wants_attention else None
        call: Call | None = cache.block.call
        if call is None or call.key != key:
            call = cache.block.call = Call(self._decoder, self.config, cache.block.array, state, key)
        elif call.sources is not state.sources:
            call.read_from(state.sources)
        call.tokens[rows] = tokens
        call.run(state.position)
        cache.filled = position = state.position + length
        seen = call.outputs.get("attention")
        if seen is not None:
            seen = seen.mean(axis=1).reshape(state.num_rows, length, -1)
            seen = seen[rows, -1, : state.sources.longest]
        return call.outputs, replace(state, position=position, cache=cache, rows=rows, attention=seen)

    def _writable(self, state: OnnxState, room: int) -> tuple[Cache, list[int]]:
        """A cache with the state's sentences, filled up to its position; and the cache's row of each row."""
        cache, rows = state.cache, state.rows
        if cache is None:
            cache = Cache(self._pool, state.cached, max(FIRST_CAPACITY, room), state.sources)
            return cache, state.places()[1]
        is_same = cache.sources is state.sources and cache.num_rows == state.num_rows
        if is_same and cache.filled == state.position and cache.capacity >= state.position + room:
            if len(set(rows)) == len(rows):
                return cache, rows
            # Only this state holds it: rows that it dropped may be overwritten.
            if cache.num_holders == 1:
                return cache, cache.spread(rows, state.position)
        order, places = state.places()
        return cache.moved(state.cached, order, state.position, room, state.sources), places
