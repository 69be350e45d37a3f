"""The boxes of the model as nodes of a graph; each function is named after its file in `model/`.

The vectors of a batch are [rows, length, d_model] throughout.
"""

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from regard.config.model import BASE, HIGH_TURNS, LOW_TURNS
from regard.errors import needs_extra
from regard.exchange.onnx_graph import Graph, filled, linear

NORMS = ("layer", "rms", "batch")
ACTIVATIONS = ("relu", "gelu", "gelu-tanh", "silu")
Rotation = tuple[str, str]  # the names of cosine and sine


def _angles(g: Graph, positions: str, num_features: int, times: int = 1) -> str:
    pairs = np.arange(0, num_features, 2, dtype=np.float32)
    frequencies = np.float32(BASE) ** (-pairs / np.float32(num_features))
    number = g.column(g.op("Cast", positions, to=TensorProto.FLOAT))
    return g.op("Mul", number, g.constant(frequencies.repeat(times)))


def _position(g: Graph, side: str, positions: str, lengths: str | None) -> str | None:
    """What is added at each position, if anything; scaled positions use `lengths` if they are known."""
    config = g.config
    if "added" not in config.position_traits:
        return None
    if config.position == "sinusoidal":
        angle = _angles(g, positions, config.d_model, times=2)
        even = g.constant(np.arange(config.d_model) % 2 == 0, np.bool_)
        return g.op("Where", even, g.op("Sin", angle), g.op("Cos", angle))
    if config.position == "learned":
        last = g.constant(config.max_positions - 1, np.int64)
        return g.lookup(f"{side}.position.weight", g.op("Min", positions, last))
    number = g.op("Cast", positions, to=TensorProto.FLOAT)
    assert config.position in ("scaled", "integer"), config.position
    if config.position == "scaled":
        whole = g.integers(config.max_positions) if lengths is None else g.column(lengths)
        last = g.op("Max", g.op("Sub", whole, g.integers(1)), g.integers(1))
        number = g.op("Div", number, g.op("Cast", last, to=TensorProto.FLOAT))
    return g.column(number)


def embedding(g: Graph, side: str, tokens: str, positions: str, lengths: str | None) -> str:
    table = f"{side}.embedding.weight"
    times = g.config.d_model**0.5 if g.config.scaled_embedding else 1.0
    x = g.lookup(g.ties.get(table, table), tokens, times)
    added = _position(g, side, positions, lengths)
    if added is not None:
        x = g.op("Add", x, added)
    return norm(g, f"{side}.norm", x) if g.config.embedding_norm else x


def rotation(g: Graph, positions: str) -> Rotation | None:
    if g.config.position != "rotary":
        return None
    # The formula of `model.position.rotary_frequencies`: importing a model needs no torch.
    plain = np.float32(g.config.rotary_base) ** (
        -np.arange(0, g.config.head_dim, 2, dtype=np.float32) / g.config.head_dim
    )
    kept = ((plain * g.config.rotary_length / math.tau - LOW_TURNS) / (HIGH_TURNS - LOW_TURNS)).clip(0, 1)
    frequencies = plain * (kept + (1 - kept) / g.config.rotary_factor)
    number = g.column(g.op("Cast", positions, to=TensorProto.FLOAT))
    angle = g.op("Mul", number, g.constant(frequencies.astype(np.float32)))
    return g.op("Cos", angle), g.op("Sin", angle)


def position_bias(g: Graph, queries: str, num_keys: str) -> str:
    """What positions add to the scores, [1, heads, queries, keys]; empty for kinds that add nothing."""
    if "biased" not in g.config.position_traits:
        return ""
    assert g.config.position == "alibi", g.config.position
    with needs_extra("torch", "writing the graph of positions that bias scores"):
        from regard.model.alibi import slopes
    num_keys = g.op("Cast", g.op("Squeeze", num_keys), to=TensorProto.INT64)
    keys = g.op("Range", g.constant(0, np.int64), num_keys, g.constant(1, np.int64))
    distance = g.op("Abs", g.op("Sub", keys, g.column(queries)))
    by_head = g.constant(-slopes(g.config.num_heads).numpy()[None, :, None, None])
    return g.op("Mul", by_head, g.op("Cast", distance, to=TensorProto.FLOAT))


def rotate(g: Graph, x: str, by: Rotation | None, num_heads: int) -> str:
    """Turn neighbouring features of each head."""
    if by is None:
        return x
    inputs = [x, g.integers(0), *by]  # the angles are those of the positions at hand
    return g.op("RotaryEmbedding", *inputs, interleaved=1, num_heads=num_heads)


def head_norm(g: Graph, name: str, x: str, num_heads: int) -> str:
    """The norm of queries or keys, each head by itself, where the model has it."""
    if not g.config.query_key_norm:
        return x
    heads = g.op("Reshape", x, g.integers(0, 0, num_heads, g.config.head_dim))
    return g.op("Reshape", norm(g, name, heads), g.integers(0, 0, -1))


def attention(g: Graph, query: str, key: str, value: str, bias: str, weights_called: str = "") -> str:
    """Equation 1 over [rows, heads, length, head_dim].

    The key is transposed, [rows, heads, head_dim, length], and scaled: see `scaled_keys`.
    """
    masked = g.op("Add", g.op("MatMul", query, key), bias)
    return g.op("MatMul", g.op("Softmax", masked, axis=-1, called=weights_called), value)


def scaled_keys(g: Graph, x: str, called: str = "") -> str:
    """Keys as `attention` takes them: scaled and transposed once, for many queries."""
    scaled = g.op("Mul", x, g.constant(g.config.head_dim**-0.5))
    shape = g.integers(0, 0, g.config.num_heads, g.config.head_dim)
    return g.op("Transpose", g.op("Reshape", scaled, shape), perm=[0, 2, 3, 1], called=called)


def split_heads(g: Graph, x: str, shape: str = "", called: str = "") -> str:
    """To [rows, heads, length, head_dim], by way of `shape`: rows, length, heads, head_dim."""
    shape = shape or g.integers(0, 0, g.config.num_heads, g.config.head_dim)
    return g.op("Transpose", g.op("Reshape", x, shape), perm=[0, 2, 1, 3], called=called)


def join_heads(g: Graph, x: str, shape: str) -> str:
    return g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 1, 3]), shape)


def cached_attention(g: Graph, query: str, key: str, value: str, past: tuple[str, str], new: tuple[str, str]) -> str:
    """Masked self-attention of the newest tokens, whose keys and values are appended to the cache.

    `past` and `new` name the same memory, before and after.
    """
    config = g.config
    counts = config.num_heads, config.num_key_heads, config.num_key_heads
    widened = (_widen_heads(g, each, count) for each, count in zip((query, key, value), counts, strict=True))
    about: dict[str, Any] = dict(num_heads=counts[0], kv_num_heads=counts[1], scale=config.head_dim**-0.5)
    if config.window is not None:
        about["local_window_size"] = config.window
    bias = position_bias(g, "positions", "total")
    last = ["last", "total", *(["", "", "", bias] if bias else [])]
    context = g.op("GroupQueryAttention", *widened, *past, *last, more=new, **about)
    if padded_width(config.head_dim) == config.head_dim:
        return context
    wide = g.op("Reshape", context, g.integers(0, 0, config.num_heads, -1))
    narrow = g.op("Slice", wide, g.integers(0), g.integers(config.head_dim), g.integers(3))
    return g.op("Reshape", narrow, g.integers(0, 0, config.d_attention))


def padded_width(head_dim: int) -> int:
    """Features of a head in a cache: the kernel wants a multiple of 8."""
    return -(-head_dim // 8) * 8


def _widen_heads(g: Graph, x: str, num_heads: int) -> str:
    """Add zeros to each head up to the kernel's width; they change no product."""
    config = g.config
    missing = padded_width(config.head_dim) - config.head_dim
    if not missing:
        return x
    heads = g.op("Reshape", x, g.integers(0, 0, num_heads, config.head_dim))
    heads = g.op("Pad", heads, g.integers(0, 0, 0, 0, 0, 0, 0, missing))
    return g.op("Reshape", heads, g.integers(0, 0, -1))


def norm(g: Graph, name: str, x: str) -> str:
    """Over the last axis, the features."""
    weight, epsilon = g.floats(f"{name}.weight"), g.config.norm_epsilon
    if g.config.norm == "batch":
        return _folded(g, name, x)
    if g.config.norm == "rms":  # onnxruntime makes one node of these
        mean = g.op("ReduceMean", g.op("Pow", x, g.constant(2)), g.integers(-1))
        root = g.op("Sqrt", g.op("Add", mean, g.constant(epsilon)))
        return g.op("Mul", g.op("Div", x, root), weight)
    # InstanceNormalization with positions as channels computes the same as onnxruntime's LayerNormalization,
    # several times as fast.
    length = g.op("Shape", "tokens", start=1)
    ones, zeros = (filled(g, length, value) for value in (1, 0))
    normal = g.op("InstanceNormalization", x, ones, zeros, epsilon=epsilon)
    return g.op("Add", g.op("Mul", normal, weight), g.floats(f"{name}.bias"))


def _folded(g: Graph, name: str, x: str) -> str:
    """A batch norm with fixed statistics: one product and one sum, computed when the graph is loaded."""
    mean, variance = (g.floats(f"{name}.{part}") for part in ("running_mean", "running_variance"))
    spread = g.op("Sqrt", g.op("Add", variance, g.constant(g.config.norm_epsilon)))
    scale = g.op("Div", g.floats(f"{name}.weight"), spread)
    shift = g.op("Sub", g.floats(f"{name}.bias"), g.op("Mul", mean, scale))
    return g.op("Add", g.op("Mul", x, scale), shift)


def sublayer_input(g: Graph, name: str, x: str) -> str:
    """The input of a sub-layer."""
    return norm(g, f"{name}.norm", x) if g.config.norm_placement == "pre" else x


def sublayer_output(g: Graph, name: str, x: str, output: str) -> str:
    """The output of a sub-layer with its residual."""
    residual = g.op("Add", x, output)
    return residual if g.config.norm_placement == "pre" else norm(g, f"{name}.norm", residual)


def feed_forward(g: Graph, name: str, x: str) -> str:
    inputs, kind = sublayer_input(g, name, x), g.config.feed_forward
    hidden = linear(g, inputs, f"{name}.hidden")
    inner = activated(g, hidden, kind.removeprefix("gated-"))
    if g.config.is_gated:
        inner = g.op("Mul", inner, linear(g, inputs, f"{name}.gate"))
    return sublayer_output(g, name, x, linear(g, inner, f"{name}.output", positive=kind == "relu"))


def activated(g: Graph, hidden: str, kind: str) -> str:
    if kind == "silu":
        return g.op("Mul", hidden, g.op("Sigmoid", hidden))
    if kind == "gelu-tanh":
        return g.op("Gelu", hidden, approximate="tanh")
    return g.op("Relu" if kind == "relu" else "Gelu", hidden)


def top_k(g: Graph, values: str, count: str) -> None:
    """The `count` largest of each row of [places, vocabulary] and their columns: best_values, best_tokens.

    They lie in the `count` blocks with the largest maxima, and a maximum is found much faster than an order. The blocks
    are kept in order, so that equal values come in the order of their tokens.
    """
    vocab_size = g.config.target_vocab_size
    size = next((size for size in (64, 50, 80, 40, 32) if vocab_size % size == 0), 1)
    num_blocks = vocab_size // size
    if size == 1 or num_blocks < 8:
        g.op("TopK", values, count, called="best_values", more=["best_tokens"])
        return
    in_blocks = g.op("Reshape", values, g.integers(-1, num_blocks, size))
    maxima = g.op("ReduceMax", in_blocks, g.integers(2), keepdims=0)
    num_kept = g.op("Min", count, g.integers(num_blocks))
    g.op("TopK", maxima, num_kept, called="best_maxima", more=["best_blocks"])
    blocks = g.op("TopK", "best_blocks", num_kept, largest=0, called="blocks", more=["unused"])
    pool = g.op("GatherND", in_blocks, g.column(blocks), batch_dims=1)
    pool = g.op("Reshape", pool, g.op("Concat", g.integers(0), g.op("Mul", num_kept, g.integers(size)), axis=0))
    g.op("TopK", pool, count, called="best_values", more=["best_places"])
    which = g.op("Div", "best_places", g.integers(size))
    left_out = g.op("Sub", g.op("GatherElements", blocks, which, axis=1), which)
    g.op("Add", "best_places", g.op("Mul", left_out, g.integers(size)), called="best_tokens")
