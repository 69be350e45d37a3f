"""The names and shapes of a trace are public interface: pinned here, value by value.

A failure means that readers of traces break. Add names for new variants; never change these.
"""

import pytest
import torch

from regard.trace import Trace

ATTENTION = "query key value scores scaled masked weights context concatenated output residual norm"
FEED_FORWARD = "hidden activated output residual norm"


def under(path: str, names: str) -> list[str]:
    return [f"{path}.{name}" for name in names.split()]


def traced(model, sentences) -> Trace:
    trace = Trace()
    sentences.padded(model, trace)
    return trace


def test_the_names_of_the_paper_model_in_order_and_of_a_step(random_model, sentences):
    trace = traced(random_model(num_encoder_layers=1, num_decoder_layers=1), sentences)
    assert list(trace) == [
        *under("source", "tokens embedding position input"),
        *under("encoder.layers.0.self_attention", ATTENTION),
        *under("encoder.layers.0.feed_forward", FEED_FORWARD),
        "memory",
        *under("target", "tokens embedding position input"),
        *under("decoder.layers.0.self_attention", ATTENTION),
        *under("decoder.layers.0.cross_attention", ATTENTION),
        *under("decoder.layers.0.feed_forward", FEED_FORWARD),
        "logits",
        "probabilities",
    ]
    model = random_model(num_decoder_layers=1)
    full, step = Trace(), Trace()
    sentences.padded(model, full)
    model.step(sentences.target[:, 0], model.start(sentences.source, sentences.source_lengths), trace=step)
    names = list(full)
    assert list(step) == names[names.index("target.tokens") :]


SEARCH = under("decoder.attention", "query energies masked weights context")
STATE = ["decoder.layers.0.state"]


@pytest.mark.parametrize(
    ("attention", "writes"), [("none", STATE), ("additive", SEARCH + STATE), ("dot", STATE + SEARCH)]
)
def test_the_names_of_a_recurrent_model_in_order(attention, writes, random_model, sentences):
    """Additive attention looks before the state moves on, Luong's after it."""
    model = random_model(architecture="lstm", attention=attention, position="none", num_decoder_layers=1)
    full, step = traced(model, sentences), Trace()
    reads = [*under("source", "tokens embedding input"), *under("encoder.layers.0", "forwards backwards"), "memory"]
    keys = [] if attention == "none" else ["decoder.attention.key"]
    begins = [*reads, *under("decoder", "summary initial"), *keys]
    ends = [*under("decoder.readout", "hidden output"), "logits", "probabilities"]
    each_step = [*under("target", "tokens embedding input"), *writes, *ends]
    assert list(full) == begins + each_step
    state = model.start(sentences.source, sentences.source_lengths)
    model.step(sentences.target[:, 0], state, trace=step)
    assert list(step) == each_step


def check_shapes(trace: Trace, expected: dict[str, tuple[int, ...]]) -> None:
    """A key may name several values, as path.(one two)."""
    for key, shape in expected.items():
        path, _, names = key.partition("(")
        for name in names.rstrip(")").split() or [""]:
            assert tuple(trace[path + name].shape) == shape, path + name


def test_shapes_are_heads_first(random_model, sentences):
    """Batch 5, heads 3, head_dim 6, d_model 18, d_ff 31, source 7, target 11, vocabulary 23."""
    expected = {"memory": (5, 7, 18), "(logits probabilities)": (5, 11, 23)}
    for side, length in (("source", 7), ("target", 11)):
        expected[f"{side}.tokens"] = (5, length)
        expected[f"{side}.(embedding position input)"] = (5, length, 18)
    lengths = {"encoder.layers.0.self": (7, 7), "decoder.layers.0.self": (11, 11), "decoder.layers.0.cross": (11, 7)}
    for layer, (query_len, key_len) in lengths.items():
        path = f"{layer}_attention"
        expected[f"{path}.(query context)"] = (5, 3, query_len, 6)
        expected[f"{path}.(key value)"] = (5, 3, key_len, 6)
        expected[f"{path}.(scores scaled masked weights)"] = (5, 3, query_len, key_len)
        expected[f"{path}.(concatenated output residual norm)"] = (5, query_len, 18)
    for stack, length in (("encoder", 7), ("decoder", 11)):
        expected[f"{stack}.layers.0.feed_forward.(hidden activated)"] = (5, length, 31)
        expected[f"{stack}.layers.0.feed_forward.(output residual norm)"] = (5, length, 18)
    check_shapes(traced(random_model(num_decoder_layers=1), sentences), expected)


def test_weights_are_shares_of_what_may_be_seen(variant, random_model, sentences):
    """They sum to 1 over the keys; what is hidden has the score minus infinity, the weight 0."""
    trace = traced(random_model(**variant), sentences)
    for path in [name.removesuffix(".weights") for name in trace if name.endswith(".weights")]:
        query_side = "source" if path.startswith("encoder") else "target"
        key_side = "source" if path.endswith("cross_attention") else query_side
        key_lengths = getattr(sentences, f"{key_side}_lengths")
        query_len = trace[f"{query_side}.tokens"].shape[1]
        key_len = trace[f"{key_side}.tokens"].shape[1]
        hidden = (torch.arange(key_len) >= key_lengths[:, None])[:, None, :]
        hidden = hidden.expand(-1, query_len, -1)
        if path.startswith("decoder") and path.endswith("self_attention"):
            hidden = hidden | torch.ones(query_len, key_len, dtype=torch.bool).triu(1)
            # A sliding window hides what is further back.
            window = variant.get("window", 0)
            hidden = hidden | torch.ones(query_len, key_len, dtype=torch.bool).tril(-window if window else -key_len)
        weights = trace[f"{path}.weights"]
        # Of padding, a window may leave nothing to see.
        query_lengths = getattr(sentences, f"{query_side}_lengths")
        real = (torch.arange(query_len) < query_lengths[:, None])[:, None, :, None].expand(weights.shape)
        hidden = hidden[:, None].expand(weights.shape)
        assert torch.equal((trace[f"{path}.masked"] == -torch.inf)[real], hidden[real])
        assert not weights[hidden & real].any() and (weights[~hidden & real] > 0).all()
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
