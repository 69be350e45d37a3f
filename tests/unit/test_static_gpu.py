"""The recorded search and its kernels on a GPU, against the formulas they stand for."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from regard.config import DecodeConfig, ModelConfig
from regard.decode import search
from regard.engine.gpu.recording import Room
from regard.engine.gpu.search import StaticSearch
from regard.engine.gpu.slots import candidates
from regard.engine.torch import TorchEngine
from regard.model.attention import KeyValue
from regard.model.norm import AddAndNorm
from regard.model.position import Rotation, rotate
from regard.model.static_cache import SourceCache, TargetCache
from regard.model.transformer import build

pytestmark = pytest.mark.gpu
SLOTS, BEAM, HEADS, MAX_LEN, HEAD_DIM = 3, 2, 5, 71, 16
ROWS = SLOTS * BEAM


def random(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape).to("cuda", dtype)


@pytest.mark.parametrize(("length", "num_angles", "head_dim"), [(1, ROWS, 16), (9, 1, 24)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_turning_in_one_kernel(length, num_angles, head_dim, dtype):
    x = random(ROWS, length, 3 * HEADS * head_dim, dtype=dtype).chunk(3, dim=-1)[1]
    x = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
    angle = torch.randn(num_angles, 1, length, head_dim // 2, device="cuda")
    by = Rotation(angle.cos(), angle.sin())
    with torch.no_grad():
        found = rotate(x, by)
    written = rotate(x.double().cpu(), Rotation(by.cos.double().cpu(), by.sin.double().cpu()))
    rounding = 1e-6 if dtype == torch.float32 else 1e-2
    torch.testing.assert_close(found.double().cpu(), written, atol=rounding, rtol=rounding)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_writing_and_attending_in_one_kernel(shared, dtype):
    cache = [random(ROWS, HEADS, MAX_LEN, HEAD_DIM, dtype=dtype) for _ in range(2)]
    positions = torch.tensor([0, 0, 5, 5, 67, 67], device="cuda")
    owners = None
    if shared:
        first = torch.arange(ROWS)[:, None] // BEAM * BEAM
        owners = (first + torch.randint(0, BEAM, (ROWS, MAX_LEN))).int().cuda()
    projected = random(ROWS, 1, 3 * HEADS * HEAD_DIM, dtype=dtype).chunk(3, dim=-1)
    query, key, value = (each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in projected)

    def attended(device: str, exact: torch.dtype) -> tuple[torch.Tensor, ...]:
        keys, values = (each.to(device, exact, copy=True) for each in cache)
        whose = None if owners is None else owners.to(device)
        written = TargetCache(keys, values, positions.to(device), whose)
        written = written.append(KeyValue(key.to(device, exact), value.to(device, exact)))
        return written.attend(query.to(device, exact), None, None), keys, values

    found, expected = attended("cuda", dtype), attended("cpu", torch.float64)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found[0].double().cpu(), expected[0], atol=tolerance, rtol=tolerance)
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        assert torch.equal(ours.double().cpu(), theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_beams_attend_to_their_sentence_in_the_bank(dtype):
    bank = [random(7, HEADS, 41, HEAD_DIM, dtype=dtype) for _ in range(2)]
    lengths = torch.tensor([41, 1, 3, 33, 32, 2, 1], device="cuda")
    sentence = torch.tensor([3, 0, 6], device="cuda")
    query = random(ROWS, HEADS, 1, HEAD_DIM, dtype=dtype)
    found = SourceCache(*bank, lengths, sentence).attend(query, None, None)
    exact = [each.double().cpu() for each in bank]
    expected = SourceCache(*exact, lengths.cpu(), sentence.cpu()).attend(query.double().cpu(), None, None)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.double().cpu(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("d_model", [48, 512])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_add_and_norm_in_one_kernel(d_model, dtype):
    """A box that only reads, on the GPU, against one in double precision."""
    box = AddAndNorm(ModelConfig(d_model=d_model), dropout=0.1).eval()
    torch.nn.init.normal_(box.norm.weight)
    torch.nn.init.normal_(box.norm.bias)
    x, output = (3 * torch.randn(7, 2, d_model).to(dtype) for _ in range(2))
    with torch.no_grad():
        found = copy.deepcopy(box).to("cuda", dtype).add_and_norm(x.cuda(), output.cuda(), None)
        expected = box.to(dtype).double().add_and_norm(x.double(), output.double(), None)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    assert found.dtype == dtype
    torch.testing.assert_close(found.double().cpu(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("count", [1, 4, 8])
def test_the_best_candidates(count):
    """Also where nothing is possible, where the forbidden would be best, and before the end may come."""
    # Where this file is only collected there may be no GPU, and so no compiler for its kernels.
    from regard.engine.gpu.kernels import chunked_top

    logits = 4 * torch.randn(5, 9001)
    logits[1] = -torch.inf
    logits[3, 0], logits[4, 3] = 50, 60
    shape = SimpleNamespace(beam=count, min_length=5, no_repeat_ngram=0)
    slots = SimpleNamespace(shape=shape, never=[0, 2], eos_id=3, positions=torch.arange(5, device="cuda"))
    values, tokens, log_sums = chunked_top(logits.cuda(), slots)
    slots.positions = slots.positions.cpu()
    expected, wanted = candidates(logits.double(), slots)
    best, place = values.cpu().topk(count)
    best = torch.nan_to_num(best - log_sums.cpu().logsumexp(1, keepdim=True), -torch.inf)
    torch.testing.assert_close(best.double(), expected, atol=1e-4, rtol=1e-5)
    possible = [0, 2, 3, 4]
    assert torch.equal(tokens.cpu().gather(1, place)[possible], wanted[possible])


@pytest.mark.parametrize("settings", [{"method": "greedy"}, {"beam": 4}, {"beam": 5, "n_best": 5}])
@pytest.mark.parametrize("position", ["sinusoidal", "rotary"])
def test_recorded_and_played_again_equals_the_search_over_steps(settings, position):
    sizes = dict(source_vocab_size=1009, target_vocab_size=1009, d_model=64, d_ff=96, num_heads=4)
    config = ModelConfig(**sizes, num_encoder_layers=2, num_decoder_layers=2, position=position)
    model = build(config).cuda().eval()
    with torch.no_grad():
        model.output.weight.mul_(4)
    generator = np.random.default_rng(3)
    sources = [[*generator.integers(4, 1009, length).tolist(), 3] for length in (0, 1, 7, 13, 5, 2, 19)]
    decode = DecodeConfig(max_length=11, **settings)
    engine = TorchEngine(model, "cuda", "fp32")
    engine.__dict__["search_whole"] = None
    expected = search(engine, sources, decode)
    ours = StaticSearch(model, torch.float32, Room(rows=3 * decode.beam, sentences=4))
    for _ in range(3):
        found = ours(sources, decode, np.full(len(sources), 11))
        for mine, other in zip(found, expected, strict=True):
            assert [each.tokens for each in mine] == [each.tokens for each in other]
            assert [each.score for each in mine] == pytest.approx([each.score for each in other], abs=1e-3)
