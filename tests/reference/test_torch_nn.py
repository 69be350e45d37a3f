"""Equal to PyTorch's own Transformer layers when both hold the same random weights."""

import math

import pytest
import torch
from fixtures import randomize
from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.layout import Layout, Visibility
from regard.model.transformer import EncoderDecoder
from regard.trace import Trace

TOLERANCE = dict(atol=1e-4, rtol=0)


def copy(linear_or_norm: nn.Module, weight: Tensor, bias: Tensor) -> None:
    with torch.no_grad():
        linear_or_norm.weight.copy_(weight)
        linear_or_norm.bias.copy_(bias)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """PyTorch stacks the three projections into one matrix."""
    projections = (ours.query, ours.key, ours.value)
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for linear, weight, bias in zip(projections, weights, biases, strict=True):
        copy(linear, weight, bias)
    copy(ours.output, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_layer(ours: nn.Module, theirs: nn.Module) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    sub_layers = [ours.self_attention, ours.feed_forward]
    norms = [theirs.norm1, theirs.norm2]
    if hasattr(theirs, "multihead_attn"):
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        sub_layers.insert(1, ours.cross_attention)
        norms.append(theirs.norm3)
    for sub_layer, norm in zip(sub_layers, norms, strict=True):
        copy(sub_layer.norm, norm.weight, norm.bias)
    copy(ours.feed_forward.hidden, theirs.linear1.weight, theirs.linear1.bias)
    copy(ours.feed_forward.output, theirs.linear2.weight, theirs.linear2.bias)


def torch_stacks(activation: str, norm_first: bool) -> tuple[nn.Module, nn.Module]:
    sizes = dict(d_model=18, nhead=3, dim_feedforward=31, dropout=0.0)
    shape = dict(**sizes, activation=activation, batch_first=True, norm_first=norm_first)

    def norm() -> nn.Module | None:
        return nn.LayerNorm(18) if norm_first else None

    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**shape), 2, norm(), enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**shape), 3, norm())
    return randomize(encoder), randomize(decoder)


def embedded(model: EncoderDecoder, tokens: Tensor) -> Tensor:
    """Section 3.4 and 3.5 written out without any of our code but the table itself."""
    d_model = model.config.d_model
    table = model.source.embedding.weight
    rows = [
        [(math.cos if j % 2 else math.sin)(place / 10000 ** (2 * (j // 2) / d_model)) for j in range(d_model)]
        for place in range(tokens.shape[1])
    ]
    return table[tokens] * math.sqrt(d_model) + torch.tensor(rows)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("placement", ["post", "pre"])
def test_logits_equal_a_stack_of_torch_layers(placement, activation, random_model, sentences):
    model = random_model(num_encoder_layers=2, num_decoder_layers=3, norm_placement=placement, feed_forward=activation)
    encoder, decoder = torch_stacks(activation, placement == "pre")
    for ours, theirs in ((model.encoder, encoder), (model.decoder, decoder)):
        for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
            copy_layer(our_layer, their_layer)
        if theirs.norm is not None:
            copy(ours.final_norm, theirs.norm.weight, theirs.norm.bias)

    source_is_padding = torch.arange(7) >= sentences.source_lengths[:, None]
    target_is_padding = torch.arange(11) >= sentences.target_lengths[:, None]
    memory = encoder(embedded(model, sentences.source), src_key_padding_mask=source_is_padding)
    future = torch.ones(11, 11, dtype=torch.bool).triu(1)
    padding = dict(tgt_key_padding_mask=target_is_padding, memory_key_padding_mask=source_is_padding)
    hidden = decoder(embedded(model, sentences.target), memory, tgt_mask=future, **padding)
    expected = hidden @ model.output.weight.T

    real = sentences.is_real(model)
    our_memory = model.encode(sentences.source, sentences.source_layout())
    torch.testing.assert_close(our_memory[~source_is_padding], memory[~source_is_padding], **TOLERANCE)
    torch.testing.assert_close(sentences.padded(model)[real], expected[real], **TOLERANCE)
    torch.testing.assert_close(sentences.packed(model)[0], expected[real], **TOLERANCE)
    assert expected[real].std() > 0.5  # else a tolerance of 1e-4 would prove little


def their_attention() -> nn.MultiheadAttention:
    return randomize(nn.MultiheadAttention(18, 3, batch_first=True))


def test_self_attention_equals_torch_multihead_attention(tiny_config):
    """Outputs and the weights of every head, with padding and with the future hidden."""
    layer, theirs = MultiHeadAttention(tiny_config(), dropout=0.0), their_attention()
    copy_attention(layer, theirs)
    x, lengths = torch.randn(5, 11, 18), torch.tensor([11, 4, 1, 7, 2])
    words = Layout.padded(lengths, 11)
    padding = torch.arange(11) >= lengths[:, None]
    future = torch.ones(11, 11, dtype=torch.bool).triu(1)
    for causal in (False, True):
        trace = Trace()
        layer(x, Visibility(words, words, causal=causal), trace=trace)
        hidden = dict(key_padding_mask=padding, attn_mask=future if causal else None)
        output, weights = theirs(x, x, x, **hidden, average_attn_weights=False)
        torch.testing.assert_close(trace["weights"], weights, atol=1e-6, rtol=0)
        torch.testing.assert_close(trace["output"], output, atol=1e-5, rtol=0)


def test_multi_head_equals_torch_with_three_different_inputs(tiny_config):
    """MultiHead(Q, K, V), and cross-attention as MultiHead(x, memory, memory) of keys and values projected before."""
    layer, theirs = MultiHeadAttention(tiny_config(), dropout=0.0), their_attention()
    copy_attention(layer, theirs)
    queries, keys, values = torch.randn(2, 5, 18), torch.randn(2, 7, 18), torch.randn(2, 7, 18)
    output, present = layer.multi_head(queries, keys, values)
    torch.testing.assert_close(output, theirs(queries, keys, values)[0], atol=1e-5, rtol=0)
    crossed = layer.norm(queries + output)
    torch.testing.assert_close(layer.cross_attend(queries, present), crossed, atol=1e-5, rtol=0)
