"""The boxes of the model as nodes of a graph; each function stands for the file of `model/` it is named after."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from regard.exchange.graph import Graph
from regard.model.position import BASE


class Rotation(NamedTuple):
    cos: str
    sin: str


def angles(g: Graph, positions: str, num_features: int) -> str:
    pairs = np.arange(0, num_features, 2, dtype=np.float32)
    frequencies = np.float32(BASE) ** (-pairs / np.float32(num_features))
    number = g.column(g.op("Cast", positions, to=TensorProto.FLOAT))
    return g.op("Mul", number, g.constant(frequencies))


def interleave(g: Graph, even: str, odd: str, shape: str) -> str:
    return g.op("Reshape", g.op("Concat", g.column(even), g.column(odd), axis=-1), shape)


def position(g: Graph, side: str, positions: str, lengths: str | None) -> str | None:
    """What is added at each position, if anything; `lengths` where they are known."""
    config = g.config
    if config.position in ("rotary", "none"):
        return None
    if config.position == "sinusoidal":
        angle = angles(g, positions, config.d_model)
        shape = g.integers(-1, config.d_model)
        return interleave(g, g.op("Sin", angle), g.op("Cos", angle), shape)
    if config.position == "learned":
        last = g.constant(config.max_positions - 1, np.int64)
        return g.lookup(f"{side}.position.weight", g.op("Min", positions, last))
    number = g.op("Cast", positions, to=TensorProto.FLOAT)
    if config.position == "scaled":
        whole = g.integers(config.max_positions) if lengths is None else g.column(lengths)
        last = g.op("Max", g.op("Sub", whole, g.integers(1)), g.integers(1))
        number = g.op("Div", number, g.op("Cast", last, to=TensorProto.FLOAT))
    return g.column(number)


def embedding(g: Graph, side: str, tokens: str, positions: str, lengths: str | None) -> str:
    table = f"{side}.embedding.weight"
    x = g.lookup(g.ties.get(table, table), tokens)
    x = g.op("Mul", x, g.constant(g.config.d_model**0.5))
    added = position(g, side, positions, lengths)
    if added is not None:
        x = g.op("Add", x, added)
    return g.norm(f"{side}.norm", x) if g.config.embedding_norm else x


def rotation(g: Graph, positions: str) -> Rotation | None:
    if g.config.position != "rotary":
        return None
    angle = angles(g, positions, g.config.head_dim)
    return Rotation(g.op("Cos", angle), g.op("Sin", angle))


def rotate(g: Graph, x: str, by: Rotation | None) -> str:
    """Turn neighbouring features of [rows, heads, length, head_dim]."""
    if by is None:
        return x
    last, axis, two = g.integers(g.config.head_dim), g.integers(-1), g.integers(2)
    even = g.op("Slice", x, g.integers(0), last, axis, two)
    odd = g.op("Slice", x, g.integers(1), last, axis, two)
    turned_even = g.op("Sub", g.op("Mul", even, by.cos), g.op("Mul", odd, by.sin))
    turned_odd = g.op("Add", g.op("Mul", even, by.sin), g.op("Mul", odd, by.cos))
    return interleave(g, turned_even, turned_odd, g.integers(0, 0, 0, -1))


def attention(g: Graph, query: str, key: str, value: str, bias: str | None) -> tuple[str, str]:
    """Equation 1: the mixed values, and the weights they were mixed with."""
    scaled = g.op("Mul", query, g.constant(g.config.head_dim**-0.5))
    scores = g.op("MatMul", scaled, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    masked = scores if bias is None else g.op("Add", scores, bias)
    weights = g.op("Softmax", masked, axis=-1)
    return g.op("MatMul", weights, value), weights


def split_heads(g: Graph, x: str, shape: str) -> str:
    """[places, d_model] to [rows, heads, length, head_dim], by way of `shape`: rows, length, heads, head_dim."""
    return g.op("Transpose", g.op("Reshape", x, shape), perm=[0, 2, 1, 3])


def join_heads(g: Graph, x: str) -> str:
    together = g.op("Transpose", x, perm=[0, 2, 1, 3])
    return g.op("Reshape", together, g.integers(-1, g.config.d_model))


def before(g: Graph, name: str, x: str) -> str:
    """What a sub-layer reads."""
    return g.norm(f"{name}.norm", x) if g.config.norm_placement == "pre" else x


def after(g: Graph, name: str, x: str, output: str) -> str:
    """What flows on from a sub-layer."""
    residual = g.op("Add", x, output)
    return residual if g.config.norm_placement == "pre" else g.norm(f"{name}.norm", residual)


def feed_forward(g: Graph, name: str, x: str) -> str:
    inputs = before(g, name, x)
    kind = g.config.feed_forward
    hidden = g.linear(f"{name}.hidden", inputs)
    if kind == "gated-silu":
        activated = g.op("Mul", hidden, g.op("Sigmoid", hidden))
    else:
        activated = g.op("Relu" if kind == "relu" else "Gelu", hidden)
    if kind.startswith("gated-"):
        activated = g.op("Mul", activated, g.linear(f"{name}.gate", inputs))
    return after(g, name, x, g.linear(f"{name}.output", activated))
