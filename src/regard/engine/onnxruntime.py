"""The onnxruntime engine: a model folder's graphs on the CPU, without torch.

The key/value caches are NumPy arrays [rows, heads, length, head_dim], handed in and out of each step. What
the cross-attention sees of a sentence is kept once, however many hypotheses of it are alive.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import onnxruntime

from regard import checkpoint
from regard.config import ModelConfig
from regard.decode.interface import State
from regard.engine.padding import pad
from regard.errors import ModelError, UsageError

MOST_THREADS = 8


@dataclass(frozen=True)
class Sources:
    """What the decoder sees of the source sentences: the encoder's outputs, a sentence a row."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def select(self, sentences: np.ndarray) -> Sources:
        return Sources({name: array[sentences] for name, array in self.arrays.items()})


@dataclass(frozen=True)
class OnnxState:
    """What one step hands to the next."""

    num_rows: int
    position: int
    past: dict[str, np.ndarray]
    """the keys and values of the tokens so far, by the names of the graph's inputs"""
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
        unmoved = np.array_equal(indices, np.arange(self.num_rows))
        return replace(
            self,
            num_rows=len(indices),
            past=self.past if unmoved else {name: a[indices] for name, a in self.past.items()},
            sources=sources,
            sentence_of=chosen,
            attention=None if seen is None else seen[indices],
        )


def _grouped(sentence_of: np.ndarray) -> np.ndarray:
    """One entry for each run of equal sentences if all runs are equally long, else one for each row."""
    starts = np.flatnonzero(np.diff(sentence_of, prepend=-1))
    lengths = np.diff(starts, append=len(sentence_of))
    return sentence_of[starts] if np.unique(lengths).size == 1 else sentence_of


class OnnxEngine:
    """The step interface over encoder.onnx and decoder.onnx."""

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
        options = _options(threads, quantized=manifest.weights == "int8" and not suffix)
        layout = sha256(checkpoint.read_header(folder)).hexdigest()
        self._encoder, seen = None, set()
        if self.config.has_encoder:
            path = folder / f"encoder{suffix}.onnx"
            self._encoder = _open(path, options, layout, {"tokens", "lengths"})
            seen = {output.name for output in self._encoder.get_outputs()}
        takes = {"tokens", "position", *self._past_names(), *seen}
        self._decoder = _open(folder / f"decoder{suffix}.onnx", options, layout, takes)
        self._outputs = [output.name for output in self._decoder.get_outputs()]

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> OnnxState:
        config, rows = self.config, len(sources)
        read = Sources()
        if self._encoder is not None:
            tokens, lengths = pad(sources, config.pad_id)
            names = [output.name for output in self._encoder.get_outputs()]
            values = self._encoder.run(names, {"tokens": tokens, "lengths": lengths})
            read = Sources(dict(zip(names, values, strict=True)))
        empty = np.zeros((rows, config.num_heads, 0, config.head_dim), dtype=np.float32)
        past = dict.fromkeys(self._past_names(), empty)
        wanted = attention and self._encoder is not None
        return OnnxState(rows, 0, past, read, np.arange(rows), read, wants_attention=wanted)

    def _past_names(self) -> list[str]:
        layers = range(self.config.num_decoder_layers)
        return [f"{part}.{i}" for i in layers for part in ("key", "value")]

    def step(self, tokens: np.ndarray, state: State) -> tuple[np.ndarray, OnnxState]:
        state = cast(OnnxState, state)
        feeds = {
            "tokens": np.asarray(tokens, dtype=np.int64),
            "position": np.array([state.position], dtype=np.int64),
            **state.past,
            **state.sources.arrays,
        }
        values = dict(zip(self._outputs, self._decoder.run(self._outputs, feeds), strict=True))
        past = {name: values[f"new_{name}"] for name in state.past}
        seen = values["attention"] if state.wants_attention else None
        return values["logits"], replace(
            state, position=state.position + 1, past=past, attention=seen
        )


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


def _options(threads: int | None, *, quantized: bool) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = default_threads() if threads is None else threads
    options.inter_op_num_threads = 1
    # Planning which buffers could share memory takes longer than loading all else, and saves little.
    options.enable_mem_reuse = False
    # A waiting thread that spins takes the core from the one it waits for when the machine is busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if quantized and not _sums_bytes_exactly():
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 3
    return options


def default_threads() -> int:
    """Half of the cores this process may use: the other half is often their hyper-thread, or busy."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min(MOST_THREADS, cores // 2))


def _sums_bytes_exactly() -> bool:
    """Whether the processor adds products of bytes in 32 bits: every one but an x86 without VNNI.

    The others add two products in 16 bits and cut off what does not fit; onnxruntime then has a slower way
    that does not. See docs/decisions/002-int8.md.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686", "x86"):
        return True
    try:
        flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0]
    except (OSError, IndexError):
        return False
    return bool({"avx512_vnni", "avx_vnni"} & set(flags.split()))
