"""The laws every variant of the model obeys, whatever its weights."""

from dataclasses import replace

import pytest
import torch

from regard.model.decoder import DecoderState
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly, build
from regard.trace import Trace

CLOSE = dict(atol=1e-5, rtol=1e-5)


def begin(model, sentences) -> DecoderState:
    if isinstance(model, DecoderOnly):
        return model.start()
    return model.start(sentences.source, sentences.source_lengths)


def test_cached_steps_equal_the_full_pass(any_writing_variant, random_model, sentences):
    model = random_model(**any_writing_variant)
    state = begin(model, sentences)
    steps = []
    for i in range(sentences.target.shape[1]):
        assert state.position == i
        logits, state = model.step(sentences.target[:, i], state)
        steps.append(logits)
    stepped = torch.stack(steps, dim=1)[sentences.is_real(model)]
    torch.testing.assert_close(stepped, sentences.real(model), **CLOSE)


def test_selected_rows_go_on_from_their_own_past(any_writing_variant, random_model, sentences):
    """Rows are repeated, dropped and reordered in mid-sentence, as a beam search does."""
    model = random_model(**any_writing_variant)
    chosen = torch.tensor([3, 1, 1])
    state = begin(model, sentences)
    for i in range(4):
        _, state = model.step(sentences.target[:, i], state)
    state = state.select(chosen)
    next_tokens = torch.tensor([5, 7, 11])
    logits, _ = model.step(next_tokens, state)
    target = torch.cat([sentences.target[chosen, :4], next_tokens[:, None]], dim=1)
    whole = replace(sentences.rows(3, 1, 1), target=target, target_lengths=torch.tensor([5, 5, 5]))
    torch.testing.assert_close(logits, whole.padded(model)[:, 4], **CLOSE)


def test_what_stands_in_the_padding_does_not_matter(any_variant, random_model, sentences):
    model = random_model(**any_variant)
    source = sentences.source.where(torch.arange(7) < sentences.source_lengths[:, None], 19)
    target = sentences.target.where(torch.arange(11) < sentences.target_lengths[:, None], 17)
    other = replace(sentences, source=source, target=target)
    assert not torch.equal(other.source, sentences.source)
    assert torch.equal(other.real(model), sentences.real(model))


def test_the_future_does_not_matter(any_writing_variant, random_model, sentences):
    model = random_model(**any_writing_variant)
    logits = sentences.padded(model)
    for seen in (1, 4, 8):
        later = torch.randint(4, 23, sentences.target.shape)
        changed = torch.where(torch.arange(11) < seen, sentences.target, later)
        other = replace(sentences, target=changed).padded(model)
        assert torch.equal(other[:, :seen], logits[:, :seen])
        assert not torch.equal(other[:, seen:], logits[:, seen:])


def test_neighbours_in_the_batch_do_not_matter(any_variant, random_model, sentences):
    model = random_model(**any_variant)
    together = sentences.padded(model)
    for row in range(5):
        alone = sentences.rows(row)
        source_len, target_len = int(alone.source_lengths), int(alone.target_lengths)
        trimmed = replace(alone, source=alone.source[:, :source_len], target=alone.target[:, :target_len])
        logits = trimmed.padded(model)[0]
        torch.testing.assert_close(logits, together[row, : len(logits)], **CLOSE)


def assert_same(model, actual, expected) -> None:
    """The logits, and the gradient of every weight."""
    torch.testing.assert_close(actual, expected, **CLOSE)
    toward, weights = torch.randn_like(expected), list(model.parameters())
    gradients = (torch.autograd.grad((logits * toward).sum(), weights) for logits in (actual, expected))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_packed_equals_padded(variant, random_model, sentences):
    model = random_model(**variant)
    assert_same(model, sentences.packed(model)[0], sentences.real(model))


def test_traced_equals_untraced(any_variant, random_model, sentences):
    """The traced pass takes the written-out attention, the other one the fused kernel."""
    model = random_model(**any_variant)
    assert_same(model, sentences.real(model, Trace()), sentences.real(model))


def test_every_weight_matters(any_variant, random_model, sentences):
    """A weight without a gradient would be dead: a module built and never used."""
    model = random_model(**any_variant)
    sentences.real(model).pow(3).sum().backward()
    # A bias added to every key shifts all scores of a query alike, which the softmax takes back.
    felt = {name: weight for name, weight in model.named_parameters() if not name.endswith("key.bias")}
    assert [name for name, weight in felt.items() if not weight.grad.abs().sum() > 0] == []


def test_fresh_weights_start_well_scaled(tiny_config):
    """Embeddings have variance 1 / d_model, so that times sqrt(d_model) they have variance 1."""
    torch.manual_seed(1)
    model = build(tiny_config(source_vocab_size=4001, target_vocab_size=4001))
    assert model.source.embedding.weight.std().item() * 18**0.5 == pytest.approx(1, abs=0.02)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            assert not weight.any(), name
        elif name.endswith("norm.weight"):
            assert (weight == 1).all(), name
        elif ".layers." in name:
            bound = (6 / sum(weight.shape)) ** 0.5
            assert 0.8 * bound < weight.abs().max() <= bound, name


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "alibi", "scaled", "integer"])
def test_order_enters_only_through_the_position(position, random_model):
    """Without positions a reordered source gives reordered vectors; with them it does not."""
    words = torch.tensor([[4, 9, 14, 19, 7]])
    order = torch.tensor([3, 0, 4, 2, 1])
    layout = Layout.padded(torch.tensor([5]), 5)
    blind = random_model(position="none")
    there, back = blind.encode(words, layout), blind.encode(words[:, order], layout)
    torch.testing.assert_close(back, there[:, order], **CLOSE)
    model = random_model(position=position)
    there, back = model.encode(words, layout), model.encode(words[:, order], layout)
    assert not torch.allclose(back, there[:, order], atol=1e-3)


# torch says so on a processor without bf16 arithmetic, and computes it in another way
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("position", ["sinusoidal", "rotary", "alibi"])
def test_a_model_runs_in_the_precision_of_its_weights(dtype, position, random_model, sentences):
    model = random_model(position=position)
    expected = sentences.real(model)
    logits = sentences.real(model.to(dtype))
    assert logits.dtype == dtype
    tolerance = 1e-4 if dtype == torch.float64 else 0.15
    torch.testing.assert_close(logits.float(), expected, atol=tolerance, rtol=tolerance)
