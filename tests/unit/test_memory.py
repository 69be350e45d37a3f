"""Batches that fit into memory: predicted from two trials, or halved when a step has failed."""

import dataclasses
import json

import pytest
import torch
from train_fixtures import QUICK, checkpoint_of, make_batch, make_updater, run

from regard.config import RUNNING_TEXT, TrainConfig, sized
from regard.errors import TrainingError
from regard.model.transformer import build
from regard.train import memory
from regard.train.loss import batch_loss
from regard.train.memory import SENTENCE, OutOfMemory, fit_to_memory, trial_batch
from regard.train.update import Updater

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("architecture", "packed"), [("encoder-decoder", False), ("encoder-decoder", True), ("decoder-only", True)]
)
def test_a_trial_is_a_batch_the_model_can_learn_from(architecture: str, packed: bool) -> None:
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
    kept = 4 * 5 * sum(p.numel() for p in build(config).parameters())
    gpu["free"] = round((kept + 10_000_000) / memory.SHARE)
    said: list[str] = []
    assert fit_to_memory(settings, config, CPU, said.append) == settings and not said
    gpu["free"] = round((kept + 4_000_000) / memory.SHARE)
    divided = fit_to_memory(settings, config, CPU, said.append)
    assert (divided.batch_tokens, divided.accumulate) == (3000, 6)
    assert "6 batches of 3,000 make an update" in said[0]
    gpu["free"] = kept
    with pytest.raises(TrainingError, match="memory must hold the model and .* smaller size"):
        fit_to_memory(settings, config, CPU, print)


ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nMore of it."),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("place", ["gather", "apply"])
def test_a_step_without_memory_says_what_it_needs(place: str, error: BaseException) -> None:
    updater = make_updater(False)

    def failing(*_: object) -> None:
        raise error

    setattr(updater, place, failing)
    needs = r"must hold \d+ tokens and the optimizer's moments: .*; lower batch_tokens"
    with pytest.raises(OutOfMemory, match=needs) as told:
        updater([make_batch(False)], 1e-3)
    assert "\n" not in str(told.value)


def test_a_recorded_run_that_does_not_fit_begins_again_with_half(corpus, tmp_path, monkeypatch):
    """As on a GPU, where every batch has one shape: with all memory can hold, the run is that of those settings."""
    gather = Updater.gather

    def limited(self: Updater, batches: list, num_targets: int) -> object:  # type: ignore[type-arg]
        for fed in batches:
            if fed.tensors.source.numel() + fed.tensors.target_input.numel() > 1000:
                raise OutOfMemory("memory must hold a batch: it does not")
        return gather(self, batches, num_targets)

    settings = dataclasses.replace(QUICK, steps=2, batch_tokens=3600, packing=True)
    fitting = dataclasses.replace(settings, batch_tokens=900, accumulate=4)
    run(corpus, tmp_path / "fitting", fitting)
    monkeypatch.setattr(Updater, "gather", limited)
    run(corpus, tmp_path / "run", settings)
    plan = json.loads((tmp_path / "run" / "run.json").read_text())["train"]
    assert (plan["batch_tokens"], plan["accumulate"]) == (900, 4)
    one, other = checkpoint_of(tmp_path / "fitting", 2), checkpoint_of(tmp_path / "run", 2)
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
