"""The graphs of a model folder, opened for onnxruntime; and an encoder alone."""

import platform
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.config import ModelConfig
from regard.decode.interface import State
from regard.engine import WRITES_NOTHING, Precision, default_threads, pad
from regard.engine.compiler import processor_flags
from regard.errors import ModelError, UsageError
from regard.folder import checkpoint
from regard.folder.manifest import read_manifest

MEMORY = "memory"  # The output of encoder.onnx that holds the vector of each token.


class Graphs:
    """A model folder with checked weights, and the precision its graphs run in."""

    def __init__(self, folder: str | Path, threads: int | None, precision: Precision) -> None:
        self._folder = Path(folder)
        manifest = read_manifest(self._folder)
        checkpoint.check_weights(self._folder, manifest)
        self.config: ModelConfig = manifest.model
        if precision == "int8" and manifest.weights != "int8":
            raise UsageError(
                f"precision=int8 needs a model stored as int8, but {self._folder} holds "
                f"{manifest.weights}; export it as int8 first"
            )
        self._suffix = ".fp32" if precision == "fp32" and manifest.weights == "int8" else ""
        self.quantized = manifest.weights == "int8" and not self._suffix
        """Whether matrix products are of bytes."""
        self._threads = default_threads() if threads is None else threads

    def open(self, name: Literal["encoder", "decoder"], takes: set[str]) -> Any:
        """A session over this graph, which must have these inputs."""
        import onnxruntime

        path = self._folder / f"{name}{self._suffix}.onnx"
        if not path.is_file():
            raise ModelError(
                f"the onnxruntime engine needs {path}, which is not there: "
                f"export the model's graphs, or use the torch engine"
            )
        try:
            options = _session_options(self._threads, quantized=self.quantized)
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own errors have no common base
            reason = str(error).splitlines()[0]
            raise ModelError(f"{path} is not a graph that runs here ({reason}); export it again") from None
        layout = sha256(checkpoint.read_header(self._folder)).hexdigest()
        if session.get_modelmeta().custom_metadata_map.get("layout") != layout:
            raise ModelError(
                f"{path} was made for another {checkpoint.WEIGHTS} than the one beside it; export it again"
            )
        if {each.name for each in session.get_inputs()} != takes:
            raise ModelError(f"{path} must have the inputs of its kind of graph: it has others; export it again")
        return session


class OnnxEncoder:
    """The encoder's graph alone: fills in blanks, and gives vectors to search."""

    def __init__(self, folder: str | Path, threads: int | None = None, precision: Precision = "auto") -> None:
        graphs = Graphs(folder, threads, precision)
        self.config, self._folder = graphs.config, folder
        self.precision = "int8" if graphs.quantized else "fp32"
        places = set() if self.config.has_decoder else {"places"}
        self._session = graphs.open("encoder", {"tokens", "lengths", *places})

    def log_probabilities(self, tokens: Sequence[int], places: Sequence[int]) -> np.ndarray:
        """[places, vocabulary]: the probabilities of every token at these places of a text."""
        given = {"tokens": [tokens], "lengths": [len(tokens)], "places": places}
        inputs = {name: np.array(each, np.int64) for name, each in given.items()}
        return self._session.run(["log_probabilities"], inputs)[0]

    def vectors(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """[tokens, features] of each source."""
        if MEMORY not in {each.name for each in self._session.get_outputs()}:
            raise ModelError(
                f"the graphs of {self._folder} must give the vectors of words, which search needs: an older version "
                "wrote them; write the model again with  regard export"
            )
        tokens, lengths = pad(sources, self.config.pad_id)
        inputs = {"tokens": tokens, "lengths": lengths}
        if not self.config.has_decoder:
            # One place costs little; without any the int8 graph fails.
            inputs["places"] = np.zeros(1, np.int64)
        memory = self._session.run([MEMORY], inputs)[0]
        return [row[:length] for row, length in zip(memory, lengths, strict=True)]

    def start(self, sources: Sequence[Sequence[int]], *, attention: bool = False) -> State:
        raise UsageError(WRITES_NOTHING)


def _session_options(threads: int, *, quantized: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Planning which buffers share memory takes longer than all other loading, and saves little.
    options.enable_mem_reuse = False
    # On a busy machine a spinning thread takes the core from the thread it waits for.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if quantized and not _sums_bytes_exactly():
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 3
    return options


def _sums_bytes_exactly() -> bool:
    """Whether the processor adds products of bytes in 32 bits: all but an x86 without VNNI.

    Such an x86 adds two products in 16 bits and saturates; onnxruntime has a slower way that does not. See
    docs/decisions/002-int8.md.
    """
    return not is_x86() or not processor_flags().isdisjoint({"avx512_vnni", "avx_vnni"})


def is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686", "x86")
