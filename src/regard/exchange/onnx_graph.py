"""An ONNX graph under construction, over the weights of a model folder.

Weights are never copied into a graph: each is external data, a position in model.safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from regard.config import ModelConfig
from regard.folder.checkpoint import WEIGHTS
from regard.folder.tensors import SCALE, is_table, tied_names

OPSET, IR_VERSION = 20, 9
CONTRIB = "com.microsoft"
_KINDS = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16, "I8": TensorProto.INT8}


class StoredTensor(NamedTuple):
    """The position of a tensor in the weight file, in bytes."""

    kind: str
    shape: tuple[int, ...]
    offset: int
    length: int


def stored_tensors(header: bytes) -> dict[str, StoredTensor]:
    """The tensors that the header of a weight file lists."""
    found: dict[str, StoredTensor] = {}
    for name, entry in json.loads(header[8:]).items():
        if name != "__metadata__":
            (begin, end), shape = entry["data_offsets"], tuple(entry["shape"])
            found[name] = StoredTensor(entry["dtype"], shape, len(header) + begin, end - begin)
    return found


class Graph:
    """Adds nodes and returns the names of their outputs."""

    def __init__(
        self, config: ModelConfig, header: bytes, *, widened: bool, many_rows: bool
    ) -> None:
        self.config = config
        self.header = header
        self.tensors = stored_tensors(header)
        self.ties = tied_names(config)
        self.widened = widened
        """whether to multiply in float32 whatever form the weights have"""
        self.many_rows = many_rows
        """whether inputs are whole sentences, not one token of each"""
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
        """Add a node and return its first output; an equal node is added once."""
        key = (kind, inputs, repr(sorted(attributes.items())))
        if key not in self._made:
            output = called or f"{kind}_{len(self.nodes)}"
            outputs = [output, *more_outputs]
            node = helper.make_node(kind, inputs, outputs, output, domain=domain, **attributes)
            self.nodes.append(node)
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
            tensor = TensorProto(name=known, data_type=kind or _KINDS[stored.kind])
            tensor.data_location = TensorProto.EXTERNAL
            tensor.dims.extend(stored.shape)
            where = {"location": WEIGHTS, "offset": stored.offset, "length": stored.length}
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
        kind = self.tensors[name].kind
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
        kind = self.tensors[name].kind
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
        graph = helper.make_graph(
            self.nodes, name, self.inputs, self.outputs, list(self.initializers.values())
        )
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(
            graph, producer_name="regard", ir_version=IR_VERSION, opset_imports=sets
        )
        helper.set_model_props(model, {"layout": sha256(self.header).hexdigest()})
        return model
