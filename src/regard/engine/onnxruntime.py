"""The onnxruntime engine: a model folder's graphs on the CPU, without torch.

What the cross-attention sees of a sentence is kept once, however many hypotheses of it are alive. The keys and
values of the tokens so far are written in place (`memory`), and everything a step reads and writes is bound to
its graph once, so that a step is little more than the graph itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import onnxruntime

from regard import checkpoint
from regard.config import ModelConfig
from regard.decode.interface import State
from regard.engine.memory import FIRST_CAPACITY, Memory, Pool
from regard.engine.padding import pad
from regard.errors import ModelError, UsageError

MOST_THREADS = 8
MOST_PLACES = 256
"""read at once: their scores over the vocabulary all lie in memory together"""

Answer = Literal["all", "best", "following"]
"""what is asked of a pass: every log-probability, the largest, or those of given tokens"""
_ANSWERS: dict[Answer, list[str]] = {
    "all": ["log_probabilities"],
    "best": ["best_values", "best_tokens"],
    "following": ["following_values"],
}


@dataclass(frozen=True)
class Sources:
    """What the decoder sees of the source sentences: the encoder's outputs, a sentence a row."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    longest: int = 0

    def select(self, sentences: np.ndarray) -> Sources:
        arrays = {name: array[sentences] for name, array in self.arrays.items()}
        return Sources(arrays, self.longest)


@dataclass(frozen=True)
class OnnxState:
    """What one step hands to the next."""

    num_rows: int
    position: int
    memory: Memory | None
    """the keys and values of the tokens so far; None before the first"""
    rows: np.ndarray | None
    """which rows of the memory these are, where they are not its own in its order"""
    sources: Sources
    """of the sentences that still have rows, in the order of the rows"""
    sentence_of: np.ndarray
    """for each row, its sentence in `all_sources`"""
    all_sources: Sources
    attention: np.ndarray | None = None
    wants_attention: bool = False

    def select(self, indices: np.ndarray) -> OnnxState:
        indices = np.asarray(indices)
        chosen = self.sentence_of[indices]
        sources = self.sources
        if not np.array_equal(chosen, self.sentence_of):
            sources = self.all_sources.select(_grouped(chosen))
        seen = self.attention
        return OnnxState(
            num_rows=len(indices),
            position=self.position,
            memory=self.memory,
            rows=indices if self.rows is None else self.rows[indices],
            sources=sources,
            sentence_of=chosen,
            all_sources=self.all_sources,
            attention=None if seen is None else seen[indices],
            wants_attention=self.wants_attention,
        )


def _grouped(sentence_of: np.ndarray) -> np.ndarray:
    """One entry for each run of equal sentences if all runs are equally long, else one for each row."""
    starts = np.flatnonzero(np.diff(sentence_of, prepend=-1))
    lengths = np.diff(starts, append=len(sentence_of))
    return sentence_of[starts] if np.unique(lengths).size == 1 else sentence_of


class Call:
    """A pass over the decoder's graph with everything it reads and writes bound to it.

    It reads `length` tokens a row; the arrays of its inputs are there to be written into, and those of its
    outputs are overwritten when it is made again.
    """

    def __init__(
        self,
        session: Any,
        memory: np.ndarray,
        sources: Sources,
        length: int,
        wanted: dict[str, Any],
    ) -> None:
        rows = memory.shape[1]
        self.session, self.sources = session, sources
        self.tokens = np.zeros((rows, length), dtype=np.int64)
        self.positions = np.zeros(length, dtype=np.int64)
        self.last = np.zeros(rows, dtype=np.int32)
        self.total = np.zeros(1, dtype=np.int32)
        self.places = np.arange(length - 1, rows * length, length)
        self.following = np.zeros(rows, dtype=np.int64)
        if "following_values" in wanted:
            self.places = np.arange(rows * length)
            self.following = np.zeros(rows * length, dtype=np.int64)
        self.count = np.array([wanted.get("best_values", (0, 1))[1]])
        inputs = {name: getattr(self, name) for name in _SMALL_INPUTS}
        self.outputs = {
            name: np.empty(shape, dtype=np.int64 if name == "best_tokens" else np.float32)
            for name, shape in wanted.items()
        }
        self.binding = session.io_binding()
        for name, array in (inputs | sources.arrays).items():
            self._bind("input", name, array)
        for index, array in enumerate(memory):
            name = f"{('key', 'value')[index % 2]}.{index // 2}"
            self._bind("input", name, array)
            self._bind("output", f"new_{name}", array)
        for name, array in self.outputs.items():
            self._bind("output", name, array)

    def _bind(self, way: Literal["input", "output"], name: str, array: np.ndarray) -> None:
        assert array.flags.c_contiguous
        bind = self.binding.bind_input if way == "input" else self.binding.bind_output
        bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def make(self, position: int) -> dict[str, np.ndarray]:
        """The outputs, for tokens that begin at this position; copies, which stay as they are."""
        length = len(self.positions)
        self.positions[:] = range(position, position + length)
        self.last[:] = position + length - 1
        self.total[:] = position + length
        self.session.run_with_iobinding(self.binding, _ONLY_WHAT_IS_ASKED)
        return {name: array.copy() for name, array in self.outputs.items()}


_SMALL_INPUTS = ("tokens", "positions", "last", "total", "places", "count", "following")
_ONLY_WHAT_IS_ASKED = onnxruntime.RunOptions()
_ONLY_WHAT_IS_ASKED.only_execute_path_to_fetches = True


class OnnxEngine:
    """The step interface over encoder.onnx and decoder.onnx."""

    normalised = True

    def __init__(
        self,
        folder: str | Path,
        threads: int | None = None,
        precision: Literal["auto", "fp32", "int8"] = "auto",
    ) -> None:
        folder = Path(folder)
        manifest = checkpoint.read_manifest(folder)
        checkpoint.check_weights(folder, manifest)
        self.config: ModelConfig = manifest.model
        self.device = None
        if precision == "int8" and manifest.weights != "int8":
            raise UsageError(
                f"precision=int8 needs a model stored as int8, but {folder} holds {manifest.weights}; "
                f"export it as int8 first"
            )
        suffix = ".fp32" if precision == "fp32" and manifest.weights == "int8" else ""
        options = _options(threads)
        layout = sha256(checkpoint.read_header(folder)).hexdigest()
        self._encoder, seen = None, set()
        if self.config.has_encoder:
            path = folder / f"encoder{suffix}.onnx"
            self._encoder = _open(path, options, layout, {"tokens", "lengths"})
            seen = {output.name for output in self._encoder.get_outputs()}
        layers = range(self.config.num_decoder_layers)
        past = {f"{part}.{i}" for i in layers for part in ("key", "value")}
        takes = {*_SMALL_INPUTS, *past, *seen}
        self._decoder = _open(folder / f"decoder{suffix}.onnx", options, layout, takes)
        width = next(each for each in self._decoder.get_inputs() if each.name == "key.0").shape[3]
        self._pool = Pool(self.config.num_decoder_layers, self.config.num_heads, width)

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> OnnxState:
        rows = len(sources)
        read = Sources()
        if self._encoder is not None:
            tokens, lengths = pad(sources, self.config.pad_id)
            names = [output.name for output in self._encoder.get_outputs()]
            values = self._encoder.run(names, {"tokens": tokens, "lengths": lengths})
            read = Sources(dict(zip(names, values, strict=True)), tokens.shape[1])
        wanted = attention and self._encoder is not None
        return OnnxState(rows, 0, None, None, read, np.arange(rows), read, wants_attention=wanted)

    def step(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, OnnxState]:
        values, newer = self._pass(np.asarray(tokens)[:, None], cast(OnnxState, state), "all")
        return values["log_probabilities"], newer

    def step_best(
        self, tokens: np.ndarray, state: State, count: int
    ) -> tuple[np.ndarray, np.ndarray, OnnxState]:
        """A step that tells only the largest log-probabilities of each row and their tokens, best first."""
        count = min(count, self.config.target_vocab_size)
        rows = np.asarray(tokens)[:, None]
        values, newer = self._pass(rows, cast(OnnxState, state), "best", count)
        return values["best_values"], values["best_tokens"], newer

    def read(
        self, tokens: np.ndarray, following: np.ndarray, state: State
    ) -> tuple[np.ndarray, OnnxState]:
        """Many steps in one: for tokens [rows, length], the log-probability of what follows each of them."""
        state = cast(OnnxState, state)
        num_rows, length = tokens.shape
        # The attention kernel takes several tokens of several rows only where nothing came before.
        at_once = MOST_PLACES // num_rows if num_rows == 1 or state.position == 0 else 1
        at_once = max(1, at_once)
        values = np.empty((num_rows, length), dtype=np.float32)
        for begin in range(0, length, at_once):
            part = slice(begin, begin + at_once)
            found, state = self._pass(
                tokens[:, part], state, "following", following=following[:, part]
            )
            values[:, part] = found["following_values"].reshape(num_rows, -1)
            if num_rows > 1:
                at_once = 1
        return values, state

    def _pass(
        self,
        tokens: np.ndarray,
        state: OnnxState,
        answer: Answer,
        count: int = 1,
        following: np.ndarray | None = None,
    ) -> tuple[dict[str, np.ndarray], OnnxState]:
        length = tokens.shape[1]
        memory = self._writable(state, length)
        call = self._prepared(memory, state, length, answer, count)
        call.tokens[:] = tokens
        if following is not None:
            call.following[:] = following.ravel()
        values = call.make(state.position)
        memory.filled = position = state.position + length
        seen = values.get("attention")
        if seen is not None:
            seen = seen.reshape(state.num_rows, length, -1)[:, -1, : state.sources.longest]
        return values, OnnxState(
            state.num_rows,
            position,
            memory,
            None,
            state.sources,
            state.sentence_of,
            state.all_sources,
            seen,
            state.wants_attention,
        )

    def _writable(self, state: OnnxState, room: int) -> Memory:
        """The state's rows, and nothing after them."""
        memory = state.memory
        if memory is None:
            return Memory(self._pool, state.num_rows, max(FIRST_CAPACITY, room))
        fits = state.position + room <= memory.capacity
        if fits and state.rows is None and memory.filled == state.position:
            return memory
        rows = range(state.num_rows) if state.rows is None else state.rows.tolist()
        return memory.moved(rows, state.position, room)

    def _prepared(
        self, memory: Memory, state: OnnxState, length: int, answer: Answer, count: int
    ) -> Call:
        key = answer, length, count, state.wants_attention
        call = memory.piece.prepared.get(key)
        if call is None or call.sources is not state.sources:
            places = memory.num_rows * (length if answer == "following" else 1)
            last = {"all": (self.config.target_vocab_size,), "best": (count,), "following": ()}
            wanted = {name: (places, *last[answer]) for name in _ANSWERS[answer]}
            if state.wants_attention:
                num_keys = state.sources.arrays["source_bias"].shape[-1]
                wanted["attention"] = memory.num_rows * length, num_keys
            call = Call(self._decoder, memory.piece.array, state.sources, length, wanted)
            memory.piece.prepared[key] = call
        return call


def _open(path: Path, options: Any, layout: str, takes: set[str]) -> Any:
    if not path.is_file():
        raise ModelError(
            f"the onnxruntime engine needs {path}, which is not there: "
            f"export the model's graphs, or use the torch engine"
        )
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors have no common base
        reason = str(error).splitlines()[0]
        raise ModelError(
            f"{path} is not a graph that runs here ({reason}); export it again"
        ) from None
    if session.get_modelmeta().custom_metadata_map.get("layout") != layout:
        raise ModelError(
            f"{path} was made for another {checkpoint.WEIGHTS} than the one beside it; export it again"
        )
    if {each.name for each in session.get_inputs()} != takes:
        raise ModelError(f"{path} is another graph than its name says; export it again")
    return session


def _options(threads: int | None) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = default_threads() if threads is None else threads
    options.inter_op_num_threads = 1
    # Planning which buffers could share memory takes longer than loading all else, and saves little.
    options.enable_mem_reuse = False
    # A waiting thread that spins takes the core from the one it waits for when the machine is busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return options


def default_threads() -> int:
    """Half of the cores this process may use: the other half is often their hyper-thread, or busy."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min(MOST_THREADS, cores // 2))
