"""An ONNX graph under construction, over the weights of a model folder, and the products with these weights.

Weights are never copied into a graph: each is external data, a position in model.safetensors. int8 weights are
multiplied as int8, with each row of activations quantized by its own largest value, so that a sentence's numbers do not
depend on its neighbours; or they are widened once, when the graph is loaded.
"""

import json
import math
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from regard.config import ModelConfig
from regard.folder.checkpoint import WEIGHTS
from regard.folder.tensors import SCALE, is_table, tied_names

OPSET, IR_VERSION = 20, 9
CONTRIB = "com.microsoft"
_OF_CONTRIB = ("FusedMatMul", "GroupQueryAttention", "MatMulIntegerToFloat", "MatMulNBits", "RotaryEmbedding")
_INTEGER_SIZE = 750_000  # weights from which `MatMulInteger` with its nodes is faster for the few rows of a step too
_KINDS = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16, "I8": TensorProto.INT8}


class Graph:
    """Adds nodes and returns the names of their outputs.

    widened: multiply in float32 whatever form the weights have.
    many_rows: inputs are whole sentences, not one token of each.
    """

    def __init__(self, config: ModelConfig, header: bytes, *, widened: bool, many_rows: bool) -> None:
        self.config, self.header, self.ties = config, header, tied_names(config)
        self.tensors = json.loads(header[8:])
        """dtype, shape and data_offsets of each tensor of the weight file"""
        self.widened, self.many_rows = widened, many_rows
        self.nodes: list[NodeProto] = []
        self.initializers: dict[str, TensorProto] = {}
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self._made: dict[tuple[Any, ...], str] = {}

    def op(self, kind: str, *inputs: str, called: str = "", more: Sequence[str] = (), **attributes: Any) -> str:
        """Add a node and return its first output, of which `more` are names; an equal node is added once."""
        key = (kind, inputs, repr(sorted(attributes.items())))
        if key not in self._made:
            output = called or f"{kind}_{len(self.nodes)}"
            domain = CONTRIB if kind in _OF_CONTRIB else ""
            self.nodes.append(helper.make_node(kind, inputs, [output, *more], output, domain=domain, **attributes))
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
        """A tensor of the weight file as it is stored; its bytes may be read as another kind."""
        stored = self.tensors[name]
        known = name if kind is None else f"{name}.{TensorProto.DataType.Name(kind)}"
        if known not in self.initializers:
            tensor = TensorProto(name=known, data_type=kind or _KINDS[stored["dtype"]])
            tensor.data_location = TensorProto.EXTERNAL
            tensor.dims.extend(stored["shape"])
            begin, end = stored["data_offsets"]
            where = {"location": WEIGHTS, "offset": len(self.header) + begin, "length": end - begin}
            for key, value in where.items():
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[known] = tensor
        return known

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: Sequence[str | int], kind: int = TensorProto.FLOAT) -> None:
        """Declare a value as an output; one that a caller does not ask for costs nothing."""
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def floats(self, name: str) -> str:
        """A tensor of the weight file in float32, computed once, when onnxruntime loads the graph."""
        kind = self.tensors[name]["dtype"]
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
        """Rows of a table, times a number."""
        rows = self.op("Gather", self.stored(name), indices)
        kind = self.tensors[name]["dtype"]
        if kind == "I8":
            scales = self.column(self.stored(name + SCALE))
            if times != 1.0:
                scales = self.op("Mul", scales, self.constant(times))
            rows = self.op("Cast", rows, to=TensorProto.FLOAT)
            return self.op("Mul", rows, self.op("Gather", scales, indices))
        if kind == "F16":
            rows = self.op("Cast", rows, to=TensorProto.FLOAT)
        return rows if times == 1.0 else self.op("Mul", rows, self.constant(times))

    def model(self, name: str) -> ModelProto:
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, list(self.initializers.values()))
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, producer_name="regard", ir_version=IR_VERSION, opset_imports=sets)
        helper.set_model_props(model, {"layout": sha256(self.header).hexdigest()})
        return model


def filled(g: Graph, shape: str, value: int, kind: type[np.generic] = np.float32) -> str:
    return g.op("ConstantOfShape", shape, value=numpy_helper.from_array(np.array([value], kind)))


def linear(g: Graph, x: str, *names: str, positive: bool = False) -> str:
    """The outputs of these linear maps of x [rows, length, features], side by side.

    positive: no number of x is below zero.
    """
    has_bias = f"{names[0]}.bias" in g.tensors
    bias = _joined(g, [g.floats(f"{name}.bias") for name in names], axis=0) if has_bias else ""
    return _product(g, x, [f"{name}.weight" for name in names], bias, positive=positive)


def scores(g: Graph, x: str, name: str) -> str:
    """The output's linear map of [places, features], which may be a table."""
    bias = g.floats("output.bias") if g.config.output_bias else ""
    return _product(g, x, [name], bias, wide=True)


def _product(g: Graph, x: str, names: list[str], bias: str, *, wide: bool = False, positive: bool = False) -> str:
    is_int8 = g.tensors[names[0]]["dtype"] == "I8"
    by_row = not is_int8 or is_table(names[0])
    if g.widened or not is_int8:
        weight = _joined(g, [g.floats(name) for name in names], axis=1 - by_row)
        product = g.op("FusedMatMul", x, weight, transB=int(by_row))
    elif g.many_rows or wide or math.prod(_sizes(g, names, by_row)) >= _INTEGER_SIZE:
        product = _integer_product(g, x, names, by_row, flat=wide, positive=positive)
    else:
        return _bytes_product(g, x, names, bias, by_row)
    return g.op("Add", product, bias) if bias else product


def _sizes(g: Graph, names: list[str], by_row: bool) -> tuple[int, int]:
    """Of the product with all these matrices side by side: inputs and outputs."""
    shapes = [g.tensors[name]["shape"] for name in names]
    return shapes[0][by_row], sum(shape[1 - by_row] for shape in shapes)


def _integer_product(g: Graph, x: str, names: list[str], by_row: bool, *, flat: bool, positive: bool) -> str:
    """Each row of x scaled by its largest value to bytes around 128, multiplied, and scaled back.

    The fastest product there is, but for the nodes around it: for many rows, or very many outputs.
    flat: x is [rows, features] already.
    """
    weights = [g.stored(name) for name in names]
    if by_row:
        weights = [g.op("Transpose", weight, perm=[1, 0]) for weight in weights]
    weight = _joined(g, weights, axis=1)
    scale = _joined(g, [g.stored(name + SCALE) for name in names], axis=0)
    num_inputs, num_outputs = _sizes(g, names, by_row)
    if not flat:
        x = g.op("Reshape", x, g.integers(-1, num_inputs))
    largest = g.op("ReduceMax", x if positive else g.op("Abs", x), g.integers(-1), keepdims=0)
    largest = g.op("Max", largest, g.constant(1e-30))  # a row of zeros stays one
    row_scale = g.op("Mul", largest, g.constant(1 / 127))
    zeros = filled(g, g.op("Shape", row_scale), 128, np.uint8)
    rows = g.op("QuantizeLinear", x, row_scale, zeros, axis=0)
    zero = g.constant(128, np.uint8)
    if g.many_rows:
        product = g.op("MatMulIntegerToFloat", rows, weight, g.constant(1), scale, zero)
        product = g.op("Mul", product, g.column(row_scale))
    else:  # that node scales the outputs of a few rows one by one
        whole = g.op("MatMulInteger", rows, weight, zero)
        product = g.op("Mul", g.op("DequantizeLinear", whole, row_scale, axis=0), scale)
    if flat:
        return product
    shape = g.op("Concat", g.op("Shape", "tokens"), g.integers(num_outputs), axis=0)
    return g.op("Reshape", product, shape)


def _bytes_product(g: Graph, x: str, names: list[str], bias: str, stored_by_row: bool) -> str:
    """The same in one node, which scales each row of x block by block: for the few rows of a step.

    The kernel reads a byte as its value plus 128. What is computed here from weights alone is computed
    when the graph is loaded.
    """
    num_inputs, num_outputs = _sizes(g, names, stored_by_row)
    # As many inputs share a scale as the kernel takes at once, without filling up where possible.
    block = next((size for size in (256, 128, 64, 32, 16) if num_inputs % size == 0), 16)
    num_blocks = -(-num_inputs // block)
    weights = [g.stored(name, TensorProto.UINT8) for name in names]
    if not stored_by_row:
        weights = [g.op("Transpose", weight, perm=[1, 0]) for weight in weights]
    weight = _joined(g, weights, axis=0)
    if missing := num_blocks * block - num_inputs:
        weight = g.op("Pad", weight, g.integers(0, 0, 0, missing))
    weight = g.op("Reshape", weight, g.integers(num_outputs, num_blocks, block))
    weight = g.op("BitwiseXor", weight, g.constant(128, np.uint8))
    scale = _joined(g, [g.stored(name + SCALE) for name in names], axis=0)
    scale = g.op("Expand", g.column(scale), g.integers(num_outputs, num_blocks))
    inputs = [x, weight, scale, *(["", "", bias] if bias else [])]
    # Level 4 multiplies bytes, not what they stand for.
    sizes: dict[str, Any] = dict(K=num_inputs, N=num_outputs, bits=8, block_size=block, accuracy_level=4)
    return g.op("MatMulNBits", *inputs, **sizes)


def _joined(g: Graph, values: list[str], axis: int) -> str:
    return values[0] if len(values) == 1 else g.op("Concat", *values, axis=axis)
