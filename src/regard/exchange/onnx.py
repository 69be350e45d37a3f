"""The CPU engine's graphs: encoder.onnx, run once a batch, and decoder.onnx, run once a token.

They are written from the configuration, box by box (`onnx_blocks`).
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

from regard.config import ModelConfig
from regard.exchange import onnx_blocks as blocks
from regard.exchange.onnx_graph import Graph, linear, scores
from regard.files import write_file
from regard.folder.checkpoint import check_weights, read_header
from regard.folder.manifest import read_manifest

MASKED = float(np.finfo(np.float32).min)  # added to the score of a masked key
MAX_BYTES = 1 << 30  # of a graph with its weights in one file; the format's limit is twice this
KEY_MULTIPLE = 16
"""multiple to which the keys of a source are padded: the softmax adds up as many numbers at a time, so padding changes
no bit of a sum, and a sentence is translated alike in every batch"""


def export(folder: str | Path) -> None:
    """Write the graphs of a model folder over its weight file.

    int8 weights get a second pair of graphs, which computes in float32. A model with a `hindrance` gets none: the torch
    engine runs it.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if hindrance(manifest.model):
        return
    check_weights(folder, manifest)
    header = read_header(folder)
    suffixes = {"": False, ".fp32": True} if manifest.weights == "int8" else {"": True}
    encode = _encoder if manifest.model.has_decoder else _reader
    makers = [("encoder", encode)] * manifest.model.has_encoder + [("decoder", _decoder)] * manifest.model.has_decoder
    for suffix, widened in suffixes.items():
        for name, make in makers:
            graph = Graph(manifest.model, header, widened=widened, many_rows=name == "encoder")
            make(graph)
            content = graph.model(name).SerializeToString(deterministic=True)
            write_file(folder / f"{name}{suffix}.onnx", content)


def embed(folder: Path, output: Path) -> None:
    """Write the graphs of a folder with their weights inside, or beside them if too large."""
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        onnx.checker.check_model(model)
        too_large, location = model.ByteSize() > MAX_BYTES, f"{path.name}.data"
        onnx.save(model, output / path.name, save_as_external_data=too_large, location=location)


def hindrance(config: ModelConfig) -> str:
    """The setting for which a model has no graphs; empty where it has them. With an encoder heads are the paper's."""
    plain_heads = config.d_attention == config.d_model and config.num_key_heads == config.num_heads
    can = {
        "architecture": not config.is_recurrent,
        "position": "onnx" in config.position_traits,
        "norm": config.norm in blocks.NORMS,
        "feed_forward": config.feed_forward.removeprefix("gated-") in blocks.ACTIVATIONS,
        "num_key_value_heads" if config.d_k is None else "d_k": plain_heads or not config.has_encoder,
    }
    return next((f"{name}={getattr(config, name)}" for name, holds in can.items() if not holds), "")


def _reader(g: Graph) -> None:
    """An encoder alone: from tokens and lengths to the log-probabilities at `places`, counted through all rows."""
    config = g.config
    x, _, _ = _memory(g)
    if config.output_transform:
        hidden = blocks.activated(g, linear(g, x, "transform.hidden"), config.feed_forward)
        x = blocks.norm(g, "transform.norm", hidden)
    places = g.input("places", TensorProto.INT64, ["places"])
    _log_probabilities(g, x, places, config.source_vocab_size)


def _log_probabilities(g: Graph, x: str, places: str, vocab_size: int) -> str:
    x = g.op("Gather", g.op("Reshape", x, g.integers(-1, g.config.d_model)), places)
    logits = scores(g, x, g.ties.get("output.weight", "output.weight"))
    values = g.op("LogSoftmax", logits, axis=-1, called="log_probabilities")
    g.output(values, ["places", vocab_size])
    return values


def _memory(g: Graph) -> tuple[str, str, str]:
    """The encoder's output, the padding of its keys, and their mask."""
    config = g.config
    tokens = g.input("tokens", TensorProto.INT64, ["sentences", "source_len"])
    lengths = g.input("lengths", TensorProto.INT64, ["sentences"])
    source_len = g.op("Squeeze", g.op("Shape", tokens, start=1))
    positions = g.op("Range", g.constant(0, np.int64), source_len, g.constant(1, np.int64))
    missing = g.op("Mod", g.op("Neg", g.op("Shape", tokens, start=1)), g.integers(KEY_MULTIPLE))
    fill = g.op("Concat", g.integers(0, 0, 0, 0), missing, g.integers(0), axis=0)
    key_len = g.op("Add", source_len, g.op("Squeeze", missing))
    key_positions = g.op("Range", g.constant(0, np.int64), key_len, g.constant(1, np.int64))
    may_attend = g.op("Less", key_positions, g.column(lengths))
    bias = g.op("Where", may_attend, g.constant(0), g.constant(MASKED))
    bias = g.op("Unsqueeze", bias, g.integers(1, 2), called="source_bias")
    turn = blocks.rotation(g, positions)
    x = blocks.embedding(g, "source", tokens, positions, lengths)
    near = blocks.position_bias(g, positions, key_len)
    here = g.op("Add", bias, near) if near else bias
    for i in range(config.num_encoder_layers):
        x = _encoder_attention(g, f"encoder.layers.{i}.self_attention", x, turn, fill, here)
        x = blocks.feed_forward(g, f"encoder.layers.{i}.feed_forward", x)
    if config.norm_placement == "pre":
        x = blocks.norm(g, "encoder.final_norm", x)
    x = g.op("Identity", x, called="memory")
    g.output(x, ["sentences", "source_len", config.d_model])
    return x, fill, bias


def _encoder(g: Graph) -> None:
    """From tokens and lengths of the sources to the keys and values of every cross-attention."""
    config = g.config
    x, fill, bias = _memory(g)
    for i in range(config.num_decoder_layers):
        name = f"decoder.layers.{i}.cross_attention"
        key, value = (g.op("Pad", linear(g, x, part), fill) for part in projections(name)[1:])
        blocks.scaled_keys(g, key, called=f"cross_key.{i}")
        blocks.split_heads(g, value, called=f"cross_value.{i}")
        g.output(f"cross_key.{i}", _shape(g, config.head_dim, "key_len"))
        g.output(f"cross_value.{i}", _shape(g, "key_len", config.head_dim))
    g.output(bias, ["sentences", 1, 1, "key_len"])


def _decoder(g: Graph) -> None:
    """From the newest tokens of each row and the cache to the log-probabilities of the next tokens.

    `places` are the tokens, counted through the rows, whose successors are wanted. There is one set of cross-attention
    keys and values a sentence; the rows of a sentence are adjacent, and each sentence has as many.
    """
    config = g.config
    tokens = g.input("tokens", TensorProto.INT64, ["rows", "length"])
    positions = g.input("positions", TensorProto.INT64, ["length"])
    g.input("last", TensorProto.INT32, ["rows"])
    g.input("total", TensorProto.INT32, [1])
    places = g.input("places", TensorProto.INT64, ["places"])
    if config.has_encoder:
        g.input("source_bias", TensorProto.FLOAT, ["sentences", 1, 1, "key_len"])
    turn = blocks.rotation(g, positions)
    x = blocks.embedding(g, "target", tokens, positions, None)
    for i in range(config.num_decoder_layers):
        x = _decoder_attention(g, i, x, turn)
        if config.has_encoder:
            x = _cross_attention(g, i, x)
        x = blocks.feed_forward(g, f"decoder.layers.{i}.feed_forward", x)
    if config.norm_placement == "pre":
        x = blocks.norm(g, "decoder.final_norm", x)
    values = _log_probabilities(g, x, places, config.target_vocab_size)
    count = g.input("count", TensorProto.INT64, [1])
    blocks.top_k(g, values, count)
    g.output("best_values", ["places", "count"])
    g.output("best_tokens", ["places", "count"], TensorProto.INT64)


def _shape(g: Graph, *last: str | int) -> list[str | int]:
    return ["sentences", g.config.num_heads, *last]


def _encoder_attention(g: Graph, name: str, x: str, turn: blocks.Rotation | None, fill: str, bias: str) -> str:
    # Three products: splitting one product for whole sentences would cost more than it saves.
    inputs = blocks.sublayer_input(g, name, x)
    query, key, value = (linear(g, inputs, part) for part in projections(name))
    query, key = (blocks.rotate(g, each, turn, g.config.num_heads) for each in (query, key))
    query, key = blocks.split_heads(g, query), blocks.scaled_keys(g, g.op("Pad", key, fill))
    value = blocks.split_heads(g, g.op("Pad", value, fill))
    context = blocks.attention(g, query, key, value, bias)
    context = blocks.join_heads(g, context, g.integers(0, 0, g.config.d_model))
    return blocks.sublayer_output(g, name, x, linear(g, context, f"{name}.output"))


def projections(name: str) -> list[str]:
    return [f"{name}.{part}" for part in ("query", "key", "value")]


def _decoder_attention(g: Graph, i: int, x: str, turn: blocks.Rotation | None) -> str:
    name, config = f"decoder.layers.{i}.self_attention", g.config
    query = linear(g, blocks.sublayer_input(g, name, x), *projections(name))
    key = value = ""  # the kernel takes the three side by side as well
    if turn is not None or config.query_key_norm or blocks.padded_width(config.head_dim) != config.head_dim:
        key, value = f"{query}_key", f"{query}_value"
        of_query, of_key = config.d_attention, config.num_key_heads * config.head_dim
        query = g.op("Split", query, g.integers(of_query, of_key, of_key), axis=-1, more=[key, value])
        query = blocks.head_norm(g, f"{name}.query_norm", query, config.num_heads)
        key = blocks.head_norm(g, f"{name}.key_norm", key, config.num_key_heads)
        query = blocks.rotate(g, query, turn, config.num_heads)
        key = blocks.rotate(g, key, turn, config.num_key_heads)
    shape: list[str | int] = ["rows", config.num_key_heads, "capacity", blocks.padded_width(config.head_dim)]
    past, new = (f"key.{i}", f"value.{i}"), (f"new_key.{i}", f"new_value.{i}")
    for each in past:
        g.input(each, TensorProto.FLOAT, shape)
    context = blocks.cached_attention(g, query, key, value, past, new)
    for each in new:
        g.output(each, shape)
    return blocks.sublayer_output(g, name, x, linear(g, context, f"{name}.output"))


def _cross_attention(g: Graph, i: int, x: str) -> str:
    name, config = f"decoder.layers.{i}.cross_attention", g.config
    key = g.input(f"cross_key.{i}", TensorProto.FLOAT, _shape(g, config.head_dim, "key_len"))
    value = g.input(f"cross_value.{i}", TensorProto.FLOAT, _shape(g, "key_len", config.head_dim))
    sentences = g.op("Shape", "source_bias", start=0, end=1)
    by_head = g.op("Concat", sentences, g.integers(-1, config.num_heads, config.head_dim), axis=0)
    query = blocks.split_heads(g, linear(g, blocks.sublayer_input(g, name, x), f"{name}.query"), by_head)
    seen = "attention" if i == config.num_decoder_layers - 1 else ""
    context = blocks.attention(g, query, key, value, "source_bias", weights_called=seen)
    if seen:
        g.output(seen, ["sentences", config.num_heads, "queries", "key_len"])
    as_input = g.op("Concat", g.op("Shape", "tokens"), g.integers(config.d_model), axis=0)
    context = blocks.join_heads(g, context, as_input)
    return blocks.sublayer_output(g, name, x, linear(g, context, f"{name}.output"))
