"""A graph being written, node by node, over the weights of a model folder.

Weights are never copied into a graph: each is external data, a place in model.safetensors. What the file
holds as int8 is multiplied as int8, with each row of activations quantized to its own largest value, so that
a sentence's numbers do not depend on its neighbours; or it is widened once, when the graph is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from regard.checkpoint import WEIGHTS
from regard.config import ModelConfig
from regard.model.norm import EPSILON
from regard.tensors import SCALE, is_table, tied_names

OPSET, IR_VERSION = 20, 9
CONTRIB = "com.microsoft"
_KINDS = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16, "I8": TensorProto.INT8}


class Place(NamedTuple):
    """Where in the weight file a tensor lies."""

    kind: str
    shape: tuple[int, ...]
    offset: int
    length: int


def places(header: bytes) -> dict[str, Place]:
    entries = json.loads(header[8:])
    entries.pop("__metadata__", None)
    return {
        name: Place(
            entry["dtype"],
            tuple(entry["shape"]),
            len(header) + entry["data_offsets"][0],
            entry["data_offsets"][1] - entry["data_offsets"][0],
        )
        for name, entry in entries.items()
    }


class Graph:
    """Adds nodes and returns the names of their outputs; every value is known by its name."""

    def __init__(self, config: ModelConfig, header: bytes, *, widened: bool) -> None:
        self.config = config
        self.header = header
        self.places = places(header)
        self.ties = tied_names(config)
        self.widened = widened
        """multiply in float32 whatever form the weights are stored in"""
        self.nodes: list[NodeProto] = []
        self.initializers: dict[str, TensorProto] = {}
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self._made: dict[tuple[Any, ...], str] = {}

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node with one output; the same node asked for twice is one node."""
        key = (kind, inputs, repr(sorted(attributes.items())))
        if key not in self._made:
            output = f"{kind}_{len(self.nodes)}"
            self.nodes.append(
                helper.make_node(
                    kind, list(inputs), [output], name=output, domain=domain, **attributes
                )
            )
            self._made[key] = output
        return self._made[key]

    def constant(self, values: Any, kind: type[np.generic] = np.float32) -> str:
        array = np.asarray(values, dtype=kind)
        name = f"constant_{sha256(array.tobytes() + str((kind, array.shape)).encode()).hexdigest()[:12]}"
        self.initializers.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def stored(self, name: str) -> str:
        """A tensor of the weight file as it lies there."""
        if name not in self.initializers:
            place = self.places[name]
            tensor = TensorProto(
                name=name, data_type=_KINDS[place.kind], data_location=TensorProto.EXTERNAL
            )
            tensor.dims.extend(place.shape)
            for key, value in (
                ("location", WEIGHTS),
                ("offset", place.offset),
                ("length", place.length),
            ):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[name] = tensor
        return name

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Sequence[str | int]) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def floats(self, name: str) -> str:
        """A tensor of the weight file in float32; onnxruntime computes it once, when it loads the graph."""
        kind = self.places[name].kind
        if kind == "F32":
            return self.stored(name)
        wide = self.op("Cast", self.stored(name), to=TensorProto.FLOAT)
        if kind == "F16":
            return wide
        scale = self.stored(name + SCALE)
        return self.op("Mul", wide, self.column(scale) if is_table(name) else scale)

    def column(self, vector: str) -> str:
        return self.op("Unsqueeze", vector, self.integers(-1))

    def lookup(self, name: str, indices: str) -> str:
        """Rows of a table."""
        rows = self.op("Gather", self.stored(name), indices)
        kind = self.places[name].kind
        if kind == "F32":
            return rows
        rows = self.op("Cast", rows, to=TensorProto.FLOAT)
        if kind == "F16":
            return rows
        scales = self.op("Gather", self.stored(name + SCALE), indices)
        return self.op("Mul", rows, self.column(scales))

    def linear(self, name: str, x: str) -> str:
        """[places, inputs] to [places, outputs]."""
        return self._product(f"{name}.weight", x, self.floats(f"{name}.bias"))

    def scores(self, table: str, x: str) -> str:
        """The output's linear map, which has no bias and may be a table."""
        return self._product(table, x, None)

    def _product(self, name: str, x: str, bias: str | None) -> str:
        by_row = self.places[name].kind != "I8" or is_table(name)
        if self.widened or self.places[name].kind != "I8":
            inputs = [x, self.floats(name)] + ([bias] if bias else [])
            return self.op("Gemm", *inputs, transB=int(by_row))
        weight = self.stored(name)
        if by_row:
            weight = self.op("Transpose", weight, perm=[1, 0])
        rows, largest = self._quantized(x)
        product = self.op(
            "MatMulIntegerToFloat",
            rows,
            weight,
            self.constant(1 / 127),
            self.stored(name + SCALE),
            self.constant(128, np.uint8),
            domain=CONTRIB,
        )
        product = self.op("Mul", product, largest)
        return self.op("Add", product, bias) if bias else product

    def _quantized(self, x: str) -> tuple[str, str]:
        """Each row as bytes around 128, and the largest magnitude of each row, which became 127."""
        largest = self.op("ReduceMax", self.op("Abs", x), self.integers(-1))
        largest = self.op("Max", largest, self.constant(1e-30))  # a row of zeros stays one
        scaled = self.op("Mul", x, self.op("Div", self.constant(127), largest))
        rows = self.op("QuantizeLinear", scaled, self.constant(1), self.constant(128, np.uint8))
        return rows, largest

    def norm(self, name: str, x: str) -> str:
        weight = self.floats(f"{name}.weight")
        if self.config.norm == "layer":
            bias = self.floats(f"{name}.bias")
            return self.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=EPSILON)
        mean_square = self.op("ReduceMean", self.op("Mul", x, x), self.integers(-1))
        root = self.op("Sqrt", self.op("Add", mean_square, self.constant(EPSILON)))
        return self.op("Mul", self.op("Div", x, root), weight)

    def model(self, name: str) -> ModelProto:
        graph = helper.make_graph(
            self.nodes, name, self.inputs, self.outputs, list(self.initializers.values())
        )
        model = helper.make_model(
            graph,
            producer_name="regard",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)],
        )
        helper.set_model_props(model, {"layout": sha256(self.header).hexdigest()})
        return model
