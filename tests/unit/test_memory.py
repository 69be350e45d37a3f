"""How large a batch may be, from what two trials took."""

from __future__ import annotations

import pytest
import torch

from regard.config import RUNNING_TEXT, TrainConfig, sized
from regard.errors import TrainingError
from regard.model.transformer import build
from regard.train import memory
from regard.train.loss import batch_loss
from regard.train.memory import SENTENCE, fit_to_memory, most_tokens, num_bytes_kept, trial_batch
from regard.train.plan import divide

CPU = torch.device("cpu")


def test_bytes_grow_by_the_same_with_every_token() -> None:
    def taken(tokens: int) -> int:
        return 700 + 13 * tokens

    measured = {size: taken(size) for size in (101, 307)}
    most = most_tokens(measured, 100_000)
    assert taken(most) <= 100_000 < taken(most + 1)
    assert most_tokens(measured, 300) == 0
    assert most_tokens({101: 1010}, 5000) == 500, "one trial: nothing is taken for fixed"


@pytest.mark.parametrize(("tokens", "most"), [(65536, 30000), (4096, 4096), (4097, 4096), (7, 3)])
def test_parts_are_few_and_fit(tokens: int, most: int) -> None:
    part, num_parts = divide(tokens, most)
    assert part <= most and part * num_parts >= tokens > part * (num_parts - 1)
    assert num_parts == 1 or -(-tokens // (num_parts - 1)) > most


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_a_trial_is_a_batch_the_model_can_learn_from(packed: bool, architecture: str) -> None:
    sizes = dict(source_vocab_size=37, target_vocab_size=37)
    model = build(sized("tiny", architecture=architecture, **sizes))
    of_text = {architecture: objective for objective, architecture in RUNNING_TEXT.items()}
    settings = TrainConfig(packing=packed, objective=of_text.get(architecture))
    batch = trial_batch(512, model.config, settings, CPU)
    assert batch.source.numel() + batch.target_input.numel() == 512
    sums = batch_loss(model, batch, packed=packed, longest=SENTENCE, label_smoothing=0.1)
    sums.loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A card with so many free bytes, on which a token takes a thousand."""
    card = {"free": 0}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (card["free"], 10**12))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(memory, "measure", lambda *_: {1000: 1_000_000, 3000: 3_000_000})
    return card


def test_what_fits_is_left_alone_and_what_does_not_is_divided(gpu: dict[str, int]) -> None:
    config = sized("tiny", source_vocab_size=37, target_vocab_size=37)
    settings = TrainConfig(batch_tokens=9000, accumulate=2)
    kept = num_bytes_kept(sum(p.numel() for p in build(config).parameters()), settings)
    gpu["free"] = round((kept + 10_000_000) / memory.SHARE)
    assert fit_to_memory(settings, config, CPU) == (settings, "")
    gpu["free"] = round((kept + 4_000_000) / memory.SHARE)
    divided, note = fit_to_memory(settings, config, CPU)
    assert (divided.batch_tokens, divided.accumulate) == (3000, 6)
    assert "6 batches of 3,000 make an update" in note
    gpu["free"] = kept
    with pytest.raises(TrainingError, match="memory must hold the model and .* smaller size"):
        fit_to_memory(settings, config, CPU)
