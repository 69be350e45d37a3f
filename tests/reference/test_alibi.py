"""ALiBi is that of BLOOM: its slopes, and a whole model with the same random weights, all at once and word by word."""

import pytest
import torch
from fixtures import randomize
from transformers import BloomConfig, BloomForCausalLM
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

from regard.config import ModelConfig
from regard.model.alibi import slopes
from regard.model.layout import Layout
from regard.model.transformer import DecoderOnly

HEADS, WIDTH, WORDS = 3, 18, 29
PARTS = {
    "self_attention.norm": "input_layernorm",
    "self_attention.output": "self_attention.dense",
    "feed_forward.norm": "post_attention_layernorm",
    "feed_forward.hidden": "mlp.dense_h_to_4h",
    "feed_forward.output": "mlp.dense_4h_to_h",
}


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 8, 12, 112])
def test_the_slopes_are_those_of_bloom(num_heads: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 2), num_heads, torch.float32)[:, 0, 1]
    torch.testing.assert_close(slopes(num_heads), theirs)


@torch.no_grad()
def test_a_model_with_alibi_is_bloom() -> None:
    theirs = randomize(
        BloomForCausalLM(BloomConfig(vocab_size=WORDS, hidden_size=WIDTH, n_layer=2, n_head=HEADS))
    ).eval()
    sizes = dict(d_model=WIDTH, d_ff=4 * WIDTH, num_heads=HEADS, num_decoder_layers=2, target_vocab_size=WORDS)
    kinds = dict(architecture="decoder-only", position="alibi", norm_placement="pre", feed_forward="gelu-tanh")
    ours = DecoderOnly(ModelConfig(**sizes, **kinds, embedding_norm=True, scaled_embedding=False)).eval()
    table, state = theirs.state_dict(), {}
    for kind in ("weight", "bias"):
        state[f"target.norm.{kind}"] = table[f"transformer.word_embeddings_layernorm.{kind}"]
        state[f"decoder.final_norm.{kind}"] = table[f"transformer.ln_f.{kind}"]
        for i in range(2):
            for own, name in PARTS.items():
                state[f"decoder.layers.{i}.{own}.{kind}"] = table[f"transformer.h.{i}.{name}.{kind}"]
            # Theirs lie head by head: query, key and value of each.
            joint = table[f"transformer.h.{i}.self_attention.query_key_value.{kind}"].unflatten(0, (HEADS, 3, -1))
            for part, name in enumerate(("query", "key", "value")):
                state[f"decoder.layers.{i}.self_attention.{name}.{kind}"] = joint[:, part].flatten(0, 1)
    state |= dict.fromkeys(("target.embedding.weight", "output.weight"), table["transformer.word_embeddings.weight"])
    ours.load_state_dict(state)
    tokens = torch.randint(WORDS, (2, 23))
    expected = theirs(input_ids=tokens).logits
    whole = ours(tokens, Layout.padded(torch.tensor([23, 23]), 23))
    torch.testing.assert_close(whole, expected, atol=1e-4, rtol=0)
    state, steps = ours.start(), []
    for i in range(23):
        logits, state = ours.step(tokens[:, i], state)
        steps.append(logits)
    torch.testing.assert_close(torch.stack(steps, 1), expected, atol=1e-4, rtol=0)
