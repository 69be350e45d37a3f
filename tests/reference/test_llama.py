"""Today's blocks (RMSNorm, rotary positions, gated SiLU) equal Hugging Face's Llama with copied weights.

Llama turns feature i of a head together with feature head_dim / 2 + i; ours, as Su et al. write it, turns
neighbours. So the rows of the query and key projections are permuted within each head. Llama does not
multiply its embedding by sqrt(d_model), so ours holds the same table divided by it.
"""

from __future__ import annotations

import pytest
import torch
from fixtures import randomize
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from regard.model.transformer import DecoderOnly, build

D_MODEL, HEADS, HEAD_DIM = 18, 3, 6
WITHIN_HEAD = torch.arange(HEAD_DIM).reshape(2, -1).T.flatten()
ROWS = (torch.arange(HEADS)[:, None] * HEAD_DIM + WITHIN_HEAD).flatten()


@pytest.fixture
def llama() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=23,
        hidden_size=D_MODEL,
        intermediate_size=31,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=41,
        rms_norm_eps=1e-5,
        attention_bias=True,
        mlp_bias=True,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
    )
    return randomize(LlamaForCausalLM(config))


@torch.no_grad()
def copied(llama: LlamaForCausalLM, tiny_config) -> DecoderOnly:
    model = build(
        tiny_config(
            architecture="decoder-only",
            norm="rms",
            norm_placement="pre",
            position="rotary",
            feed_forward="gated-silu",
            tied="none",
        )
    ).eval()
    model.target.embedding.weight.copy_(llama.model.embed_tokens.weight / D_MODEL**0.5)
    model.output.weight.copy_(llama.lm_head.weight)
    model.decoder.final_norm.weight.copy_(llama.model.norm.weight)
    for ours, theirs in zip(model.decoder.layers, llama.model.layers, strict=True):
        attention, feed_forward = ours.self_attention, ours.feed_forward
        copy(attention.query, theirs.self_attn.q_proj, ROWS)
        copy(attention.key, theirs.self_attn.k_proj, ROWS)
        copy(attention.value, theirs.self_attn.v_proj)
        copy(attention.output, theirs.self_attn.o_proj)
        copy(feed_forward.hidden, theirs.mlp.gate_proj)
        copy(feed_forward.gate, theirs.mlp.up_proj)
        copy(feed_forward.output, theirs.mlp.down_proj)
        attention.norm.weight.copy_(theirs.input_layernorm.weight)
        feed_forward.norm.weight.copy_(theirs.post_attention_layernorm.weight)
    return model


def copy(ours: nn.Module, theirs: nn.Module, rows: torch.Tensor | slice = slice(None)) -> None:
    ours.weight.copy_(theirs.weight[rows])
    ours.bias.copy_(theirs.bias[rows])


@torch.no_grad()
def test_logits_equal_llama(llama, tiny_config, sentences):
    model = copied(llama, tiny_config)
    mask = (sentences.target != 0).long()
    theirs = llama(input_ids=sentences.target, attention_mask=mask).logits
    real = sentences.is_real(model)
    torch.testing.assert_close(sentences.real(model), theirs[real], atol=1e-4, rtol=0)
    torch.testing.assert_close(sentences.packed(model)[0], theirs[real], atol=1e-4, rtol=0)
    assert theirs[real].std() > 0.5
