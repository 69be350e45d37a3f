"""A graph being written, node by node, over the weights of a model folder.

Weights are never copied into a graph: each is external data, a place in model.safetensors. What the file
holds as int8 is multiplied as int8, with each row of activations quantized to its own largest values, so that
a sentence's numbers do not depend on its neighbours; or it is widened once, when the graph is loaded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from regard.checkpoint import WEIGHTS
from regard.config import ModelConfig
from regard.tensors import SCALE, is_table, tied_names

OPSET, IR_VERSION = 20, 9
WORTH_THE_NODES = 750_000
"""From so many weights on `MatMulInteger` with all its nodes is the faster product of a step too."""
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


def block_size(num_inputs: int) -> int:
    """How many inputs share a scale: as many as the kernel takes at once, without filling up where possible."""
    sizes = (256, 128, 64, 32, 16)
    return next((size for size in sizes if num_inputs % size == 0), 16)


class Graph:
    """Adds nodes and returns the names of their outputs; every value is known by its name."""

    def __init__(
        self, config: ModelConfig, header: bytes, *, widened: bool, many_rows: bool
    ) -> None:
        self.config = config
        self.header = header
        self.places = places(header)
        self.ties = tied_names(config)
        self.widened = widened
        """multiply in float32 whatever form the weights are stored in"""
        self.many_rows = many_rows
        """made for the words of whole sentences, not for one word of each"""
        self.nodes: list[NodeProto] = []
        self.initializers: dict[str, TensorProto] = {}
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self._made: dict[tuple[Any, ...], str] = {}

    def op(
        self,
        kind: str,
        *inputs: str,
        domain: str = "",
        called: str = "",
        more_outputs: Sequence[str] = (),
        **attributes: Any,
    ) -> str:
        """A node, known by its first output; the same node asked for twice is one node."""
        key = (kind, inputs, repr(sorted(attributes.items())))
        if key not in self._made:
            output = called or f"{kind}_{len(self.nodes)}"
            outputs = [output, *more_outputs]
            self.nodes.append(
                helper.make_node(
                    kind, list(inputs), outputs, name=output, domain=domain, **attributes
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

    def stored(self, name: str, kind: int | None = None) -> str:
        """A tensor of the weight file as it lies there; its bytes may be read as another kind's."""
        place = self.places[name]
        known = name if kind is None else f"{name}.{TensorProto.DataType.Name(kind)}"
        if known not in self.initializers:
            tensor = TensorProto(
                name=known,
                data_type=kind or _KINDS[place.kind],
                data_location=TensorProto.EXTERNAL,
            )
            tensor.dims.extend(place.shape)
            for key, value in (
                ("location", WEIGHTS),
                ("offset", place.offset),
                ("length", place.length),
            ):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[known] = tensor
        return known

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: Sequence[str | int], kind: int = TensorProto.FLOAT) -> None:
        """Hand out a value under its own name; one that nobody asks for then costs nothing."""
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

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

    def lookup(self, name: str, indices: str, times: float = 1.0) -> str:
        """Rows of a table, all of them times a number."""
        rows = self.op("Gather", self.stored(name), indices)
        kind = self.places[name].kind
        if kind == "I8":
            scales = self.column(self.stored(name + SCALE))
            if times != 1.0:
                scales = self.op("Mul", scales, self.constant(times))
            rows = self.op("Cast", rows, to=TensorProto.FLOAT)
            return self.op("Mul", rows, self.op("Gather", scales, indices))
        if kind == "F16":
            rows = self.op("Cast", rows, to=TensorProto.FLOAT)
        return rows if times == 1.0 else self.op("Mul", rows, self.constant(times))

    def linear(self, x: str, *names: str, positive: bool = False) -> str:
        """The outputs of these linear maps of x [rows, length, features], side by side.

        positive: no number of x is below zero.
        """
        bias = self._joined([self.floats(f"{name}.bias") for name in names], axis=0)
        return self._product(x, [f"{name}.weight" for name in names], bias, positive=positive)

    def scores(self, x: str, name: str) -> str:
        """The output's linear map of [places, features], which may be a table."""
        bias = self.floats("output.bias") if self.config.output_bias else ""
        return self._product(x, [name], bias, wide=True)

    def _product(
        self, x: str, names: list[str], bias: str, *, wide: bool = False, positive: bool = False
    ) -> str:
        by_row = self.places[names[0]].kind != "I8" or is_table(names[0])
        if self.widened or self.places[names[0]].kind != "I8":
            weight = self._joined([self.floats(name) for name in names], axis=1 - by_row)
            product = self.op("FusedMatMul", x, weight, domain=CONTRIB, transB=int(by_row))
        elif self.many_rows or wide or self._num_weights(names) >= WORTH_THE_NODES:
            product = self._integer_product(x, names, by_row, flat=wide, positive=positive)
        else:
            return self._bytes_product(x, names, bias, by_row)
        return self.op("Add", product, bias) if bias else product

    def _num_weights(self, names: list[str]) -> int:
        return sum(math.prod(self.places[name].shape) for name in names)

    def _sizes(self, names: list[str], by_row: bool) -> tuple[int, int]:
        """Of the product with all these matrices side by side: inputs and outputs."""
        shapes = [self.places[name].shape for name in names]
        return shapes[0][by_row], sum(shape[1 - by_row] for shape in shapes)

    def _integer_product(
        self, x: str, names: list[str], by_row: bool, *, flat: bool, positive: bool
    ) -> str:
        """Each row of x scaled by its largest value to bytes around 128, multiplied, and scaled back.

        The fastest product there is, but for the nodes around it: for many rows, or very many outputs.
        flat: x is [rows, features] already.
        """
        weights = [self.stored(name) for name in names]
        if by_row:
            weights = [self.op("Transpose", weight, perm=[1, 0]) for weight in weights]
        weight = self._joined(weights, axis=1)
        scale = self._joined([self.stored(name + SCALE) for name in names], axis=0)
        num_inputs, num_outputs = self._sizes(names, by_row)
        if not flat:
            x = self.op("Reshape", x, self.integers(-1, num_inputs))
        largest = x if positive else self.op("Abs", x)
        largest = self.op("ReduceMax", largest, self.integers(-1), keepdims=0)
        largest = self.op("Max", largest, self.constant(1e-30))  # a row of zeros stays one
        row_scale = self.op("Mul", largest, self.constant(1 / 127))
        middle = numpy_helper.from_array(np.array([128], np.uint8))
        zeros = self.op("ConstantOfShape", self.op("Shape", row_scale), value=middle)
        rows = self.op("QuantizeLinear", x, row_scale, zeros, axis=0)
        zero = self.constant(128, np.uint8)
        if self.many_rows:
            product = self.op(
                "MatMulIntegerToFloat", rows, weight, self.constant(1), scale, zero, domain=CONTRIB
            )
            product = self.op("Mul", product, self.column(row_scale))
        else:  # that node scales the outputs of a few rows one by one
            whole = self.op("MatMulInteger", rows, weight, zero)
            product = self.op("Mul", self.op("DequantizeLinear", whole, row_scale, axis=0), scale)
        if flat:
            return product
        shape = self.op("Concat", self.op("Shape", "tokens"), self.integers(num_outputs), axis=0)
        return self.op("Reshape", product, shape)

    def _bytes_product(self, x: str, names: list[str], bias: str, stored_by_row: bool) -> str:
        """The same in one node, which scales each row of x block by block: for the few rows of a step.

        The kernel reads a byte as its value plus 128. What is computed here from weights alone is computed
        when the graph is loaded.
        """
        num_inputs, num_outputs = self._sizes(names, stored_by_row)
        block = block_size(num_inputs)
        num_blocks = -(-num_inputs // block)
        weights = [self.stored(name, TensorProto.UINT8) for name in names]
        if not stored_by_row:
            weights = [self.op("Transpose", weight, perm=[1, 0]) for weight in weights]
        weight = self._joined(weights, axis=0)
        if missing := num_blocks * block - num_inputs:
            weight = self.op("Pad", weight, self.integers(0, 0, 0, missing))
        weight = self.op("Reshape", weight, self.integers(num_outputs, num_blocks, block))
        weight = self.op("BitwiseXor", weight, self.constant(128, np.uint8))
        scale = self._joined([self.stored(name + SCALE) for name in names], axis=0)
        scale = self.op("Expand", self.column(scale), self.integers(num_outputs, num_blocks))
        return self.op(
            "MatMulNBits",
            *[x, weight, scale],
            *(["", "", bias] if bias else []),
            domain=CONTRIB,
            K=num_inputs,
            N=num_outputs,
            bits=8,
            block_size=block,
            accuracy_level=4,  # multiply bytes, not what they stand for
        )

    def _joined(self, values: list[str], axis: int) -> str:
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def norm(self, name: str, x: str) -> str:
        """Over the features of [rows, length, features]."""
        weight = self.floats(f"{name}.weight")
        if self.config.norm == "batch":
            return self._folded(name, x)
        if self.config.norm == "rms":
            return self.op(
                "SimplifiedLayerNormalization", x, weight, axis=-1, epsilon=self.config.norm_epsilon
            )
        # onnxruntime's LayerNormalization adds up number by number; with places as its channels
        # InstanceNormalization is the same, several times as fast.
        length = self.op("Shape", "tokens", start=1)
        ones, zeros = (
            self.op(
                "ConstantOfShape",
                length,
                value=numpy_helper.from_array(np.array([fill], np.float32)),
            )
            for fill in (1, 0)
        )
        normal = self.op("InstanceNormalization", x, ones, zeros, epsilon=self.config.norm_epsilon)
        return self.op("Add", self.op("Mul", normal, weight), self.floats(f"{name}.bias"))

    def _folded(self, name: str, x: str) -> str:
        """A batch norm, whose statistics stand fast: one product and one sum, made of them at loading."""
        mean, variance = (
            self.floats(f"{name}.{part}") for part in ("running_mean", "running_variance")
        )
        spread = self.op("Sqrt", self.op("Add", variance, self.constant(self.config.norm_epsilon)))
        scale = self.op("Div", self.floats(f"{name}.weight"), spread)
        shift = self.op("Sub", self.floats(f"{name}.bias"), self.op("Mul", mean, scale))
        return self.op("Add", self.op("Mul", x, scale), shift)

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
