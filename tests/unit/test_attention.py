"""Attention by hand, and every fast kernel against the written-out formula."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor

from regard.model import attention as formula
from regard.model.attention import MultiHeadAttention, attention, written_out
from regard.model.kernels import attention as kernels
from regard.model.kernels.attention import fused
from regard.model.layout import Layout, Visibility
from regard.trace import Trace


def test_one_query_over_two_words_and_a_hidden_one_on_paper() -> None:
    """Scores 28 and 26, halved by sqrt(4), give the weights e/(e+1) and 1/(e+1)."""
    query = torch.tensor([1.0, 2.0, 3.0, 4.0]).reshape(1, 1, 1, 4)
    key = torch.tensor([[2.0, 1.0, 4.0, 3.0], [4.0, 3.0, 0.0, 4.0]]).reshape(1, 1, 2, 4)
    value = torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 4.0]]).reshape(1, 1, 2, 4)
    trace = Trace()
    context = written_out(query, key, value, None, trace)
    assert trace["scores"].flatten().tolist() == [28, 26]
    assert trace["scaled"].flatten().tolist() == [14, 13]
    assert trace["masked"].flatten().tolist() == [14, 13]
    first = math.e / (math.e + 1)
    assert trace["weights"].flatten().tolist() == pytest.approx([first, 1 - first], abs=1e-6)
    assert [round(weight, 3) for weight in trace["weights"].flatten().tolist()] == [0.731, 0.269]
    by_hand = [first, 1 - first, 2 * first, 4 * (1 - first)]
    assert context.flatten().tolist() == pytest.approx(by_hand, abs=1e-6)
    assert fused(query, key, value, None).flatten().tolist() == pytest.approx(by_hand, abs=1e-6)
    # Of three equal scores one is hidden: the two others share the attention, half each.
    query, key = torch.ones(1, 1, 1, 2), torch.ones(1, 1, 3, 2)
    value = torch.tensor([[6.0, 0.0], [0.0, 8.0], [1e30, 1e30]]).reshape(1, 1, 3, 2)
    one, two = Layout.padded(torch.tensor([1]), 1), Layout.padded(torch.tensor([2]), 3)
    trace = Trace()
    context = written_out(query, key, value, Visibility(one, two), trace)
    assert trace["masked"].flatten().tolist()[2] == -math.inf
    assert trace["weights"].flatten().tolist() == [0.5, 0.5, 0.0]
    assert context.flatten().tolist() == [3, 4]
    assert fused(query, key, value, Visibility(one, two)).flatten().tolist() == [3, 4]


# ------------------------------------------------------------ fast kernels equal the formula

SOURCE, TARGET = torch.tensor([7, 3, 1, 5, 2]), torch.tensor([4, 6, 1, 11, 2])


def padded_case(kind: str) -> tuple[Visibility | None, int, int]:
    """What may be seen, and the two lengths of a row, for each way the model attends."""
    source, target = Layout.padded(SOURCE, 7), Layout.padded(TARGET, 11)
    return {
        "everything": (None, 11, 7),
        "encoder": (Visibility(source, source), 7, 7),
        "decoder": (Visibility(target, target, causal=True), 11, 11),
        "window": (Visibility(target, target, causal=True, window=3), 11, 11),
        "cross": (Visibility(target, source), 11, 7),
        "step": (Visibility(Layout.padded(torch.ones(5, dtype=torch.long), 1), source), 1, 7),
    }[kind]


def packed_case(kind: str, device: str = "cpu") -> tuple[Visibility, int, int]:
    """The same with all sentences in one row, and two empty ones at its end."""
    empty = torch.tensor([0, 0])
    lengths = (torch.cat([side, empty]).to(device) for side in (SOURCE, TARGET))
    source, target = (Layout.packed(side, int(side.sum()), 11) for side in lengths)
    return {
        "encoder": (Visibility(source, source), 18, 18),
        "decoder": (Visibility(target, target, causal=True), 24, 24),
        "window": (Visibility(target, target, causal=True, window=3), 24, 24),
        "cross": (Visibility(target, source), 24, 18),
    }[kind]


def heads(batch: int, length: int, count: int = 4) -> Tensor:
    return torch.randn(batch, count, length, 10, requires_grad=True)


def assert_same(kernel, query, key, value, visibility, real=slice(None)) -> None:
    """Outputs equal where words are, and the gradients of query, key and value with them."""
    expected = written_out(query, key, value, visibility).transpose(1, 2)[real]
    actual = kernel(query, key, value, visibility).transpose(1, 2)[real]
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    toward = torch.randn_like(expected)
    theirs = torch.autograd.grad((expected * toward).sum(), (query, key, value))
    ours = torch.autograd.grad((actual * toward).sum(), (query, key, value))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


KINDS = ("encoder", "decoder", "cross", "window")


@pytest.mark.parametrize(("kind", "packed"), [*product(KINDS, (False, True)), ("everything", False), ("step", False)])
@pytest.mark.parametrize("shared", [1, 2, 4])
def test_the_fast_kernel_equals_written_out(kind, packed, shared):
    visibility, query_len, key_len = (packed_case if packed else padded_case)(kind)
    batch = 1 if packed else 5
    query, key, value = (heads(batch, query_len), *(heads(batch, key_len, 4 // shared) for _ in range(2)))
    real = slice(None)
    if kind in ("decoder", "window") and not packed:
        real = torch.arange(11) < TARGET[:, None]
    assert_same(attention, query, key, value, visibility, real)


def range_by_range(projected, first_key, last_key, first_query, last_query):
    """What our kernel computes, without a GPU; both ways of saying who sees whom must agree."""
    query, key, value = (part for tensor in projected for part in tensor.unbind(1))
    keys, queries = torch.arange(len(key)), torch.arange(len(query))
    visible = (first_key[:, None] <= keys) & (keys < last_key[:, None])
    seen_by = (first_query[:, None] <= queries) & (queries < last_query[:, None])
    assert torch.equal(visible, seen_by.T)
    assert all((ends.diff() >= 0).all() for ends in (first_key, last_key, first_query, last_query))
    scores = torch.einsum("qhd,khd->hqk", query, key) * query.shape[-1] ** -0.5
    weights = scores.masked_fill(~visible, -math.inf).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights, value), None


@pytest.mark.parametrize("kind", KINDS)
def test_the_gpu_kernel_is_asked_the_right_question(kind, monkeypatch):
    monkeypatch.setattr(kernels, "packed_attention", range_by_range, raising=False)
    monkeypatch.setattr(kernels, "HEAD_DIMS", (10,))
    monkeypatch.setattr(kernels, "takes_packed", lambda projected, visibility: True)
    visibility, query_len, key_len = packed_case(kind)
    query, key, value = heads(1, query_len), heads(1, key_len, 2), heads(1, key_len, 2)
    assert_same(attention, query, key, value, visibility)


def test_a_layer_gives_the_gpu_kernel_queries_keys_and_values_side_by_side(tiny_config, monkeypatch):
    layer = MultiHeadAttention(tiny_config(), dropout=0.0)
    visibility, length, _ = packed_case("decoder")
    x = torch.randn(1, length, 18)
    expected, _ = layer(x, visibility)
    monkeypatch.setattr(kernels, "packed_attention", range_by_range, raising=False)
    monkeypatch.setattr(kernels, "HEAD_DIMS", (layer.query.out_features // 3,))
    monkeypatch.setattr(formula, "takes_packed", lambda projected, visibility: True)
    torch.testing.assert_close(layer(x, visibility)[0], expected, atol=1e-5, rtol=1e-5)
