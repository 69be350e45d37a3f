"""The CPU engine's graphs: encoder.onnx, run once a batch, and decoder.onnx, run once a token.

Written straight from the configuration, box by box (`blocks`). Between the boxes the words of a batch lie in
one [places, d_model] matrix; only attention sees sentences. Keys and values are always
[rows, heads, length, head_dim].
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto

from regard.checkpoint import check_weights, read_header, read_manifest
from regard.errors import UsageError
from regard.exchange.blocks import (
    Rotation,
    after,
    attention,
    before,
    embedding,
    feed_forward,
    join_heads,
    rotate,
    rotation,
    split_heads,
)
from regard.exchange.graph import Graph
from regard.placing import write_file

HIDDEN = float(np.finfo(np.float32).min)
"""added to the score of a key that may not be seen"""


def export(folder: str | Path) -> None:
    """Write the graphs of a model folder, over its weight file as it lies there.

    A folder of int8 weights gets a second pair that computes in float32.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if not manifest.model.has_decoder:
        raise UsageError(
            "expected a model that writes, got an encoder-only one: it has no graphs; use one with a decoder"
        )
    check_weights(folder, manifest)
    header = read_header(folder)
    suffixes = {"": False, ".fp32": True} if manifest.weights == "int8" else {"": True}
    for suffix, widened in suffixes.items():
        parts = {"decoder": decoder_graph(Graph(manifest.model, header, widened=widened))}
        if manifest.model.has_encoder:
            parts["encoder"] = encoder_graph(Graph(manifest.model, header, widened=widened))
        for name, graph in parts.items():
            content = graph.model(name).SerializeToString(deterministic=True)
            write_file(folder / f"{name}{suffix}.onnx", content)


def encoder_graph(g: Graph) -> Graph:
    """tokens and lengths of the sources to the keys and values of every cross-attention."""
    config = g.config
    tokens = g.input("tokens", TensorProto.INT64, ["sentences", "source_len"])
    lengths = g.input("lengths", TensorProto.INT64, ["sentences"])
    source_len = g.op("Squeeze", g.op("Shape", tokens, start=1))
    zero, one = g.constant(0, np.int64), g.constant(1, np.int64)
    positions = g.op("Range", zero, source_len, one)
    may_attend = g.op("Less", positions, g.column(lengths))
    bias = g.op("Where", may_attend, g.constant(0), g.constant(HIDDEN))
    bias = g.op("Unsqueeze", bias, g.integers(1, 2))
    by_head = g.integers(config.num_heads, config.head_dim)
    by_head = g.op("Concat", g.op("Shape", tokens), by_head, axis=0)
    turn = rotation(g, positions)
    x = embedding(g, "source", tokens, positions, lengths)
    x = g.op("Reshape", x, g.integers(-1, config.d_model))
    for i in range(config.num_encoder_layers):
        x = _encoder_attention(g, f"encoder.layers.{i}.self_attention", x, by_head, turn, bias)
        x = feed_forward(g, f"encoder.layers.{i}.feed_forward", x)
    if config.norm_placement == "pre":
        x = g.norm("encoder.final_norm", x)
    shape: list[str | int] = ["sentences", config.num_heads, "source_len", config.head_dim]
    for i in range(config.num_decoder_layers):
        for part in ("key", "value"):
            heads = g.linear(f"decoder.layers.{i}.cross_attention.{part}", x)
            g.output(f"cross_{part}.{i}", split_heads(g, heads, by_head), shape)
    g.output("source_bias", bias, ["sentences", 1, 1, "source_len"])
    return g


def decoder_graph(g: Graph) -> Graph:
    """One token a row, on top of the keys and values so far, to the scores of the next.

    The cross-attention's keys and values are one a sentence; a sentence's rows stand together, and each
    sentence has the same number of them.
    """
    config = g.config
    tokens = g.input("tokens", TensorProto.INT64, ["rows"])
    position = g.input("position", TensorProto.INT64, [1])
    if config.has_encoder:
        g.input("source_bias", TensorProto.FLOAT, ["sentences", 1, 1, "source_len"])
    turn = rotation(g, position)
    weights = ""
    x = embedding(g, "target", tokens, position, None)
    for i in range(config.num_decoder_layers):
        x = _decoder_attention(g, i, x, turn)
        if config.has_encoder:
            x, weights = _cross_attention(g, i, x)
        x = feed_forward(g, f"decoder.layers.{i}.feed_forward", x)
    if config.norm_placement == "pre":
        x = g.norm("decoder.final_norm", x)
    table = g.ties.get("output.weight", "output.weight")
    g.output("logits", g.scores(table, x), ["rows", config.target_vocab_size])
    if config.has_encoder:
        mean = g.op("ReduceMean", weights, g.integers(1), keepdims=0)
        shape = g.op("Concat", g.integers(-1), g.op("Shape", "source_bias", start=3), axis=0)
        g.output("attention", g.op("Reshape", mean, shape), ["rows", "source_len"])
    return g


def _encoder_attention(
    g: Graph, name: str, x: str, by_head: str, turn: Rotation | None, bias: str
) -> str:
    inputs = before(g, name, x)
    query, key, value = (
        split_heads(g, g.linear(f"{name}.{part}", inputs), by_head)
        for part in ("query", "key", "value")
    )
    context, _ = attention(g, rotate(g, query, turn), rotate(g, key, turn), value, bias)
    return after(g, name, x, g.linear(f"{name}.output", join_heads(g, context)))


def _decoder_attention(g: Graph, i: int, x: str, turn: Rotation | None) -> str:
    """Self-attention of the newest token, which joins the keys and values of those before it."""
    name, config = f"decoder.layers.{i}.self_attention", g.config
    inputs = before(g, name, x)
    by_head = g.integers(-1, config.num_heads, 1, config.head_dim)
    query, key, value = (
        g.op("Reshape", g.linear(f"{name}.{part}", inputs), by_head)
        for part in ("query", "key", "value")
    )
    past: list[str | int] = ["rows", config.num_heads, "past_len", config.head_dim]
    past_key = g.input(f"key.{i}", TensorProto.FLOAT, past)
    past_value = g.input(f"value.{i}", TensorProto.FLOAT, past)
    key = g.op("Concat", past_key, rotate(g, key, turn), axis=2)
    value = g.op("Concat", past_value, value, axis=2)
    so_far: list[str | int] = ["rows", config.num_heads, "so_far", config.head_dim]
    g.output(f"new_key.{i}", key, so_far)
    g.output(f"new_value.{i}", value, so_far)
    context, _ = attention(g, rotate(g, query, turn), key, value, None)
    context = g.op("Reshape", context, g.integers(-1, config.d_model))
    return after(g, name, x, g.linear(f"{name}.output", context))


def _cross_attention(g: Graph, i: int, x: str) -> tuple[str, str]:
    name, config = f"decoder.layers.{i}.cross_attention", g.config
    shape: list[str | int] = ["sentences", config.num_heads, "source_len", config.head_dim]
    key = g.input(f"cross_key.{i}", TensorProto.FLOAT, shape)
    value = g.input(f"cross_value.{i}", TensorProto.FLOAT, shape)
    sentences = g.op("Shape", "source_bias", start=0, end=1)
    by_head = g.integers(-1, config.num_heads, config.head_dim)
    by_head = g.op("Concat", sentences, by_head, axis=0)
    query = split_heads(g, g.linear(f"{name}.query", before(g, name, x)), by_head)
    context, weights = attention(g, query, key, value, "source_bias")
    return after(g, name, x, g.linear(f"{name}.output", join_heads(g, context))), weights
