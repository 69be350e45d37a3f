"""The kernels only a GPU has, against the written-out formula in double precision."""

import pytest
import torch

from regard.config import ModelConfig
from regard.model.attention import attention, written_out
from regard.model.kernels.attention import packed
from regard.model.layout import Layout, Visibility
from regard.model.transformer import build

pytestmark = pytest.mark.gpu
SOURCE = [7, 3, 1, 5, 2, 0, 0]
TARGET = [4, 6, 1, 11, 2, 0, 0]


def layouts() -> tuple[Layout, Layout]:
    """Both sides packed, with the empty slots of a fixed buffer at the end."""
    source, target = (torch.tensor(side, device="cuda") for side in (SOURCE, TARGET))
    return Layout.packed(source, sum(SOURCE), 13), Layout.packed(target, sum(TARGET), 13)


def visibility(kind: str) -> Visibility:
    source, target = layouts()
    return {
        "encoder": Visibility(source, source),
        "decoder": Visibility(target, target, causal=True),
        "cross": Visibility(target, source),
    }[kind]


@pytest.mark.parametrize("head_dim", [32, 64, 48], ids=["ours", "ours-64", "torch's"])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_packed_kernels_equal_written_out(head_dim, kind, dtype):
    """Forward and gradient, within the rounding of the narrow type."""
    seen = visibility(kind)
    lengths = (seen.query.length, seen.key.length, seen.key.length)
    narrow = [torch.randn(1, 3, length, head_dim, device="cuda", dtype=dtype, requires_grad=True) for length in lengths]
    exact = [tensor.detach().double().requires_grad_() for tensor in narrow]
    context, expected = attention(*narrow, seen), written_out(*exact, seen)
    assert context.dtype == dtype
    torch.testing.assert_close(context.double(), expected, atol=2e-2, rtol=2e-2)
    toward = torch.randn_like(expected)
    (context.double() * toward).sum().backward()
    (expected * toward).sum().backward()
    for ours, theirs in zip(narrow, exact, strict=True):
        torch.testing.assert_close(ours.grad.double(), theirs.grad, atol=3e-2, rtol=3e-2)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_side_by_side_is_one_by_one(kind):
    """Queries, keys and values in one tensor, as one product gives them."""
    seen = visibility(kind)
    whole = torch.randn(seen.query.length, 3, 5, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    apart = [part[:, None].detach().requires_grad_() for part in whole.unbind(1)]
    together, expected = packed([whole], seen), packed(apart, seen)
    assert torch.equal(together, expected)
    toward = torch.randn_like(expected)
    (gradient,) = torch.autograd.grad(together, whole, toward)
    for ours, theirs in zip(gradient.unbind(1), torch.autograd.grad(expected, apart, toward), strict=True):
        assert torch.equal(ours, theirs[:, 0])


def test_a_packed_training_step_equals_the_same_in_double_precision_on_the_processor():
    """The whole model under autocast: logits, and the direction of the gradient."""
    vocabulary = dict(source_vocab_size=53, target_vocab_size=53)
    config = ModelConfig(**vocabulary, num_encoder_layers=1, num_decoder_layers=2, d_model=192, d_ff=320, num_heads=3)
    exact = build(config).double()
    fast = build(config).cuda()
    fast.load_state_dict(exact.state_dict())
    source = torch.randint(4, 53, (1, sum(SOURCE)))
    target = torch.randint(4, 53, (1, sum(TARGET)))
    on_processor = [Layout.packed(torch.tensor(side), sum(side), 13) for side in (SOURCE, TARGET)]
    expected = exact(source, on_processor[0], target, on_processor[1])
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = fast(source.cuda(), layouts()[0], target.cuda(), layouts()[1])
    torch.testing.assert_close(logits.double().cpu(), expected, atol=0.1, rtol=0.1)
    toward = torch.randn_like(expected)
    (expected * toward).sum().backward()
    (logits.double() * toward.cuda()).sum().backward()
    for (name, ours), theirs in zip(fast.named_parameters(), exact.parameters(), strict=True):
        if not name.endswith("key.bias"):  # its true gradient is zero, and so has no direction
            pair = ours.grad.double().cpu().flatten(), theirs.grad.flatten()
            assert torch.cosine_similarity(*pair, dim=0) > 0.98, name
