"""A kernel in C that stands in for the graphs of an int8 translation model, where it was compiled: `native.c`.

    python -m regard.engine.native

compiles it with the C compiler at hand. Nothing needs it: without it, on another processor, for another architecture
and with REGARD_NATIVE=0 the graphs run on onnxruntime. See docs/decisions/009-native-kernel.md.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.config import ModelConfig
from regard.errors import ModelError, UsageError
from regard.folder.checkpoint import WEIGHTS, read_header
from regard.folder.tensors import SCALE, is_table, tied_names

SOURCE = Path(__file__).with_suffix(".c")
PROCESSOR = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "fma")
"""flags of a processor that the kernel is written for"""
_BASE = 10000.0  # of sinusoidal positions
_PANEL = 64  # outputs whose weights lie together
_Pointer, _Count = ctypes.c_void_p, ctypes.c_int64


def library_path() -> Path:
    """Where the compiled kernel lies; the name changes with the source, so that an old one is never opened."""
    number = sha256(SOURCE.read_bytes()).hexdigest()[:12]
    return SOURCE.with_name(f"_native-{number}-{platform.machine().lower()}.so")


def compile_to(path: Path) -> None:
    options = ["-std=gnu11", "-O3", "-fPIC", "-shared", "-pthread"]
    options += [f"-m{flag.replace('_', '')}" for flag in PROCESSOR]
    compiler = os.environ.get("CC", "cc")
    scratch = path.with_suffix(f".{os.getpid()}")
    try:
        subprocess.run(
            [compiler, *options, str(SOURCE), "-o", str(scratch), "-lm"], check=True, capture_output=True, text=True
        )
        scratch.replace(path)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[0]
        raise UsageError(
            f"compiling {SOURCE.name} needs a C compiler for x86-64, as cc or in CC, and a place to write {path}: "
            f"got {reason}; translation works without, on onnxruntime"
        ) from None


def processor_flags() -> set[str]:
    """What an x86 processor can do, as Linux names it; empty where that is not known."""
    try:
        return set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    except (OSError, IndexError):
        return set()


def covers(config: ModelConfig) -> bool:
    """Whether the kernel runs a model: the paper's Transformer, norms before or after, with vectors that fill registers."""
    return (
        config.architecture == "encoder-decoder"
        and (config.norm, config.feed_forward, config.position) == ("layer", "relu", "sinusoidal")
        and not (config.embedding_norm or config.d_k)
        and config.d_model % _PANEL == config.d_ff % _PANEL == config.head_dim % 16 == 0
    )


def open_kernel(folder: Path, config: ModelConfig, threads: int) -> NativeModel | None:
    """The kernel over an int8 folder, or None where graphs run it."""
    path = library_path()
    if os.environ.get("REGARD_NATIVE") == "0" or not covers(config) or not path.is_file():
        return None
    return NativeModel(path, folder, config, threads) if processor_flags().issuperset(PROCESSOR) else None


class _Linear(ctypes.Structure):
    _fields_ = [
        *((name, _Pointer) for name in ("weight", "offset", "scale", "bias")),
        ("inputs", _Count),
        ("outputs", _Count),
    ]


class _Norm(ctypes.Structure):
    _fields_ = [("weight", _Pointer), ("bias", _Pointer)]


class _Layer(ctypes.Structure):
    _fields_ = [
        *((name, _Norm) for name in ("self_norm", "cross_norm", "norm")),
        *(
            (name, _Linear)
            for name in ("self_input", "self_output", "query", "memory", "cross_output", "hidden", "output")
        ),
    ]


class _Model(ctypes.Structure):
    _fields_ = [
        *((name, _Count) for name in ("d_model", "num_heads", "d_ff", "source_vocab", "vocab")),
        *((name, _Count) for name in ("num_encoder", "num_decoder", "pre_norm")),
        ("epsilon", ctypes.c_double),
        ("times", ctypes.c_double),
        *((name, _Pointer) for name in ("source", "target", "source_scale", "target_scale", "frequencies")),
        ("encoder", ctypes.POINTER(_Layer)),
        ("decoder", ctypes.POINTER(_Layer)),
        ("encoder_norm", _Norm),
        ("decoder_norm", _Norm),
        ("scores", _Linear),
    ]


class _Call(ctypes.Structure):
    _fields_ = [
        *((name, _Count) for name in ("encodes", "rows", "length", "sentences", "num_keys", "capacity", "count")),
        *((name, _Pointer) for name in ("tokens", "lengths", "positions", "source_bias")),
        ("cross", ctypes.POINTER(_Pointer)),
        ("cache", ctypes.POINTER(_Pointer)),
        *((name, _Pointer) for name in ("best_values", "log_probabilities", "attention", "best_tokens")),
    ]


class Value(NamedTuple):
    """An input or output, as onnxruntime describes it."""

    name: str
    shape: tuple[int, ...] = ()


class NativeModel:
    """The weights as the kernel reads them, and its threads."""

    def __init__(self, library: Path, folder: Path, config: ModelConfig, threads: int) -> None:
        self.config = config
        self._library = ctypes.CDLL(str(library))
        self._library.regard_open.restype = _Pointer
        self._close = self._library.regard_close
        self._close.argtypes = [_Pointer]
        self._library.regard_run.argtypes = [_Pointer, ctypes.POINTER(_Call)]
        self._library.regard_pack.argtypes = [_Pointer, _Pointer, _Count, _Count, _Count]
        header = read_header(folder)
        data = np.memmap(folder / WEIGHTS, np.int8, "r", offset=len(header))
        self._tensors: dict[str, np.ndarray] = {}
        for name, about in json.loads(header[8:]).items():
            begin, end = about["data_offsets"]
            kind = np.int8 if about["dtype"] == "I8" else np.float32
            self._tensors[name] = data[begin:end].view(kind).reshape(about["shape"])
        self._kept: list[Any] = [self._tensors]
        """what the kernel holds pointers to"""
        matrices = (tensor.size for tensor in self._tensors.values() if tensor.dtype == np.int8)
        # In one block, for which NumPy asks for large pages: reading takes a quarter less.
        self._room = _aligned(sum(matrices) + _PANEL * config.d_model, np.int8)
        self._pool = self._library.regard_open(ctypes.byref(self._model()), threads)
        if not self._pool:
            raise ModelError(f"{folder} needs more memory than there is; use a smaller model")

    def __del__(self) -> None:
        if getattr(self, "_pool", None):
            self._close(self._pool)

    def run(self, call: _Call) -> None:
        if self._library.regard_run(self._pool, call):
            raise MemoryError("a token outside the vocabulary, or not enough memory for this batch")

    def _model(self) -> _Model:
        config, ties = self.config, tied_names(self.config)
        pairs = np.arange(0, config.d_model, 2, dtype=np.float32)
        model = _Model(
            **{name: getattr(config, name) for name in ("d_model", "num_heads", "d_ff")},
            source_vocab=config.source_vocab_size,
            vocab=config.target_vocab_size,
            num_encoder=config.num_encoder_layers,
            num_decoder=config.num_decoder_layers,
            pre_norm=config.norm_placement == "pre",
            epsilon=config.norm_epsilon,
            times=config.d_model**0.5 if config.scaled_embedding else 1.0,
            frequencies=self._keep(np.float32(_BASE) ** (-pairs / np.float32(config.d_model))),
            encoder=self._layers("encoder", config.num_encoder_layers),
            decoder=self._layers("decoder", config.num_decoder_layers),
            scores=self._linear(ties.get("output.weight", "output.weight"), bias="output.bias"),
        )
        for side in ("source", "target"):
            name = f"{side}.embedding.weight"
            table = ties.get(name, name)
            setattr(model, side, self._keep(self._tensors[table]))
            setattr(model, f"{side}_scale", self._keep(self._tensors[table + SCALE]))
        if model.pre_norm:
            model.encoder_norm, model.decoder_norm = (self._norm(f"{side}.final_norm") for side in ("encoder", "decoder"))
        return model

    def _layers(self, stack: str, number: int) -> Any:
        layers = (_Layer * number)()
        for i, layer in enumerate(layers):
            own, cross, feed = (
                f"{stack}.layers.{i}.{part}" for part in ("self_attention", "cross_attention", "feed_forward")
            )
            layer.self_norm, layer.norm = self._norm(f"{own}.norm"), self._norm(f"{feed}.norm")
            layer.self_input = self._linear(*(f"{own}.{part}.weight" for part in ("query", "key", "value")))
            layer.self_output = self._linear(f"{own}.output.weight")
            layer.hidden, layer.output = (self._linear(f"{feed}.{part}.weight") for part in ("hidden", "output"))
            if stack == "decoder":
                layer.cross_norm, layer.query = self._norm(f"{cross}.norm"), self._linear(f"{cross}.query.weight")
                layer.memory = self._linear(f"{cross}.key.weight", f"{cross}.value.weight")
                layer.cross_output = self._linear(f"{cross}.output.weight")
        self._kept.append(layers)
        return layers

    def _norm(self, name: str) -> _Norm:
        return _Norm(*(self._keep(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias")))

    def _linear(self, *names: str, bias: str = "") -> _Linear:
        """The maps with these weights, side by side."""
        by_row = is_table(names[0])
        shape = self._tensors[names[0]].shape
        inputs, outputs = shape[by_row], shape[1 - by_row]
        filled = -(-outputs * len(names) // _PANEL) * _PANEL
        weight, self._room = np.split(self._room, [filled * inputs])
        offset = _aligned(filled, np.int32)
        scale, added = _aligned(filled, np.float32), _aligned(filled, np.float32)
        linear = _Linear(*(self._keep(each) for each in (weight, offset, scale, added)), inputs, filled)
        for i, name in enumerate(names):
            first = i * outputs
            stored = self._keep(self._tensors[name])
            self._library.regard_pack(ctypes.addressof(linear), stored, outputs, first, int(by_row))
            scale[first : first + outputs] = self._tensors[name + SCALE]
            biases = self._tensors.get(bias or name.replace(".weight", ".bias"))
            if biases is not None:
                added[first : first + outputs] = biases
        return linear

    def _keep(self, array: np.ndarray) -> int:
        array = np.ascontiguousarray(array)
        self._kept.append(array)
        return array.ctypes.data


def _aligned(count: int, kind: type[np.generic]) -> np.ndarray:
    """Zeros that begin with a line of the processor's cache."""
    size = np.dtype(kind).itemsize
    memory = np.zeros(count * size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + count * size].view(kind)


def _pointers(addresses: list[int]) -> Any:
    return (_Pointer * len(addresses))(*addresses)


def _names(config: ModelConfig, key: str, value: str) -> list[str]:
    return [f"{part}.{i}" for i in range(config.num_decoder_layers) for part in (key, value)]


class EncoderSession:
    """Takes what encoder.onnx takes, and gives what decoder sessions of the same kernel read."""

    def __init__(self, model: NativeModel) -> None:
        self._model = model
        self._names = _names(model.config, "cross_key", "cross_value")

    def get_outputs(self) -> list[Value]:
        return [Value(name) for name in (*self._names, "source_bias")]

    def run(self, names: list[str], inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        config = self._model.config
        tokens, lengths = (np.ascontiguousarray(inputs[name], np.int64) for name in ("tokens", "lengths"))
        sentences, length = tokens.shape
        shape = sentences, config.num_heads, length, config.head_dim
        outputs = {name: np.empty(shape, np.float32) for name in self._names}
        cross = _pointers([array.ctypes.data for array in outputs.values()])
        outputs["source_bias"] = np.empty((sentences, 1, 1, length), np.float32)
        call = _Call(encodes=1, rows=sentences, length=length, sentences=sentences, num_keys=length, cross=cross)
        call.tokens, call.lengths = tokens.ctypes.data, lengths.ctypes.data
        call.source_bias = outputs["source_bias"].ctypes.data
        self._model.run(call)
        return [outputs[name] for name in names]


class DecoderSession:
    """Takes and gives what decoder.onnx does, bound."""

    def __init__(self, model: NativeModel) -> None:
        self._model = model

    def get_inputs(self) -> list[Value]:
        return [Value("key.0", (0, 0, 0, self._model.config.head_dim))]

    def io_binding(self) -> Binding:
        return Binding(self._model.config)

    def run_with_iobinding(self, binding: Binding) -> None:
        self._model.run(binding.call)


class Binding:
    """Where the arrays of a decoder's call lie."""

    def __init__(self, config: ModelConfig) -> None:
        self.call = _Call()
        layers = range(2 * config.num_decoder_layers)
        self._cross, self._cache = (_pointers([0 for _ in layers]) for _ in range(2))
        self.call.cross, self.call.cache = self._cross, self._cache
        self._places = {
            **{name: (self._cross, i) for i, name in enumerate(_names(config, "cross_key", "cross_value"))},
            **{name: (self._cache, i) for i, name in enumerate(_names(config, "key", "value"))},
        }

    def bind_input(self, name: str, device: str, number: int, kind: Any, shape: tuple[int, ...], address: int) -> None:
        call = self.call
        if name in self._places:
            pointers, i = self._places[name]
            pointers[i] = address
        elif hasattr(call, name) and name != "count":
            setattr(call, name, address)
        if name == "key.0":
            call.capacity = shape[2]
        elif name == "tokens":
            call.rows, call.length = shape
        elif name == "source_bias":
            call.sentences, call.num_keys = shape[0], shape[3]
        elif name == "best_values":
            call.count = shape[1]

    bind_output = bind_input


if __name__ == "__main__":
    try:
        compile_to(library_path())
    except UsageError as mistake:
        sys.exit(str(mistake))
