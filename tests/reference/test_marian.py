"""Equal to Hugging Face's MarianMTModel when both hold the same random weights.

Marian lays the sines of its positions in the first half of d_model and the cosines in the second; the
paper lays them in turns. So feature 2i of ours is Marian's i, and 2i + 1 is its d_model / 2 + i: every
weight that reads or writes d_model is permuted so. What lies within a head is not d_model, and stays.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from regard.model.transformer import EncoderDecoder, build

D_MODEL, VOCABULARY, PAD, BOS, EOS = 18, 23, 0, 2, 3
FEATURES = torch.arange(D_MODEL).reshape(2, -1).T.flatten()


@pytest.fixture
def marian() -> MarianMTModel:
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=D_MODEL,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=31,
        decoder_ffn_dim=31,
        activation_function="relu",
        max_position_embeddings=41,
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        dropout=0.0,
    )
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" in name:
                continue
            if weight.dim() == 1:
                weight.add_(torch.rand_like(weight) - 0.5)
            else:
                weight.normal_(std=weight.shape[1] ** -0.5)
    assert not model.final_logits_bias.any()
    return model


def copied(marian: MarianMTModel, tiny_config) -> EncoderDecoder:
    model = build(tiny_config(num_encoder_layers=2, num_decoder_layers=3)).eval()
    with torch.no_grad():
        model.output.weight.copy_(marian.model.shared.weight[:, FEATURES])
        for ours, theirs in (
            (model.encoder.layers, marian.model.encoder.layers),
            (model.decoder.layers, marian.model.decoder.layers),
        ):
            for our_layer, their_layer in zip(ours, theirs, strict=True):
                copy_layer(our_layer, their_layer)
    return model


def copy_layer(ours: nn.Module, theirs: nn.Module) -> None:
    copy_attention(ours.self_attention, theirs.self_attn, theirs.self_attn_layer_norm)
    if hasattr(theirs, "encoder_attn"):
        copy_attention(ours.cross_attention, theirs.encoder_attn, theirs.encoder_attn_layer_norm)
    reads(ours.feed_forward.hidden, theirs.fc1)
    writes(ours.feed_forward.output, theirs.fc2)
    writes(ours.feed_forward.norm, theirs.final_layer_norm)


def copy_attention(ours: nn.Module, theirs: nn.Module, norm: nn.Module) -> None:
    reads(ours.query, theirs.q_proj)
    reads(ours.key, theirs.k_proj)
    reads(ours.value, theirs.v_proj)
    writes(ours.output, theirs.out_proj)
    writes(ours.norm, norm)


def reads(ours: nn.Module, theirs: nn.Module) -> None:
    ours.weight.copy_(theirs.weight[:, FEATURES])
    ours.bias.copy_(theirs.bias)


def writes(ours: nn.Module, theirs: nn.Module) -> None:
    ours.weight.copy_(theirs.weight[FEATURES])
    ours.bias.copy_(theirs.bias[FEATURES])


def mask(tokens: Tensor) -> Tensor:
    return (tokens != PAD).long()


def test_logits_equal_marian(marian, tiny_config, sentences):
    model = copied(marian, tiny_config)
    with torch.no_grad():
        theirs = marian(
            input_ids=sentences.source,
            attention_mask=mask(sentences.source),
            decoder_input_ids=sentences.target,
            decoder_attention_mask=mask(sentences.target),
        )
        ours = sentences.real(model)
        memory = model.encode(sentences.source, sentences.source_layout())
    real_source = sentences.source != PAD
    expected = theirs.encoder_last_hidden_state[..., FEATURES][real_source]
    torch.testing.assert_close(memory[real_source], expected, atol=1e-4, rtol=0)
    expected = theirs.logits[sentences.is_real(model)]
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=0)
    assert expected.std() > 0.5  # else a tolerance of 1e-4 would prove little


@torch.no_grad()
def test_greedy_steps_write_what_marian_writes(marian, tiny_config, sentences):
    """Each piece at most once: random weights would otherwise write one of them over and over."""
    model = copied(marian, tiny_config)
    num_tokens = 13
    marian.generation_config = GenerationConfig(
        max_new_tokens=num_tokens,
        do_sample=False,
        num_beams=1,
        no_repeat_ngram_size=1,
        pad_token_id=PAD,
        decoder_start_token_id=BOS,
    )
    expected = marian.generate(input_ids=sentences.source, attention_mask=mask(sentences.source))
    tokens = torch.full((5,), BOS)
    written = [tokens]
    state = model.start(sentences.source, sentences.source_lengths)
    for _ in range(num_tokens):
        logits, state = model.step(tokens, state)
        logits = logits.scatter(1, torch.stack(written, dim=1), float("-inf"))
        tokens = logits.argmax(dim=-1)
        written.append(tokens)
    assert torch.stack(written, dim=1).tolist() == expected.tolist()
