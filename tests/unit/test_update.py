"""Updates: harmful steps change nothing and are counted; products take the fastest way; weight decay and running average by hand."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from train_fixtures import QUICK, checkpoint_of, counting_corpus, make_batch, make_updater, metrics, position, run

from regard.config import TrainConfig
from regard.data.batch_stream import PairStream
from regard.data.batches import make_batch as padded_batch
from regard.errors import TrainingError
from regard.text.ragged import Ragged
from regard.text.tokenizer import EOS_ID
from regard.train import run as training
from regard.train.batches import Prefetcher
from regard.train.checkpoints import load_latest
from regard.train.optimizer import MAX_IN_A_ROW, NUM_USUAL, SPIKE, Guard, RunningAverage, make_optimizer, set_rate
from regard.train.update import Updater


def weights(updater: Updater) -> list[torch.Tensor]:
    moments = [value for state in updater.optimizer.state.values() for value in state.values()]
    return [t.detach().clone() for t in (*updater.model.parameters(), *moments)]


def judged(guard: Guard, *norms: float) -> list[bool]:
    found = []
    for norm in norms:
        guard.judge(torch.tensor(norm))
        found.append(bool(guard.skips))
    return found


@pytest.mark.parametrize(("bad", "clip", "optimizer"), [(math.nan, 0.0, "adam"), (math.inf, 1.0, "muon")])
def test_a_gradient_that_is_no_number_changes_nothing(bad: float, clip: float, optimizer: str) -> None:
    updater = make_updater(False, optimizer=optimizer)
    updater.settings = dataclasses.replace(updater.settings, clip=clip)
    updater([make_batch(False)], rate=1e-3)
    before = weights(updater)
    updater.gather([make_batch(False, seed=4)])
    [*_, last] = updater.model.parameters()
    assert last.grad is not None
    last.grad.view(-1)[0] = bad
    updater.advance(rate=1e-3)
    for one, other in zip(before, weights(updater), strict=True):
        assert torch.equal(one, other)
    assert updater.guard.read() == (1, 1, 1)
    updater([make_batch(False, seed=4)], rate=1e-3)
    changed = [not torch.equal(a, b) for a, b in zip(before, weights(updater), strict=True)]
    assert all(changed) and updater.guard.read().total == 1


def test_a_spike_is_told_from_a_gradient_that_grows() -> None:
    guard = Guard(torch.device("cpu"))
    assert not any(judged(guard, 1e9, *[1.0] * (NUM_USUAL - 1))), "too little is known to judge"
    guard = Guard(torch.device("cpu"))
    judged(guard, *[2.0] * NUM_USUAL)
    assert judged(guard, 2.1 * SPIKE, 1.9 * SPIKE) == [True, False]
    assert not any(judged(guard, *[2.0 * 1.05**n for n in range(200)]))


def poison(monkeypatch: pytest.MonkeyPatch, steps: set[int], value: float = math.nan) -> None:
    """Make the gradients of some updates of every run that follows no numbers."""
    real, count = Updater.gather, [0]

    def gather(self: Updater, *args: Any) -> Any:
        sums = real(self, *args)
        count[0] += 1
        if count[0] in steps:
            for parameter in self.model.parameters():
                assert parameter.grad is not None
                parameter.grad.fill_(value)
            sums = type(sums)(*(each * value for each in sums))
        return sums

    monkeypatch.setattr(Updater, "gather", gather)
    monkeypatch.setattr(training, "timed", lambda network, plan: (plan, None))


def test_a_poisoned_step_is_skipped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poison(monkeypatch, {4, 5})
    assert run(counting_corpus(tmp_path), tmp_path / "run") is not None
    skipped = metrics(tmp_path / "run", "skipped")
    assert [(line["step"], line["total"]) for line in skipped] == [(4, 1), (5, 2)]
    assert skipped[0]["position"]["lanes"] == {"0": [0, 4]}
    trained = {line["step"]: line["loss"] for line in metrics(tmp_path / "run", "train")}
    assert [step for step, loss in trained.items() if loss is None] == [4, 5]
    for tensor in checkpoint_of(tmp_path / "run", 12).values():
        assert not tensor.is_floating_point() or tensor.isfinite().all()


def test_ten_in_a_row_put_the_weights_back_and_the_text_goes_on(tmp_path, monkeypatch):
    corpus = counting_corpus(tmp_path)
    settings = dataclasses.replace(QUICK, steps=22, validate_every=11)
    poison(monkeypatch, set(range(12, 12 + MAX_IN_A_ROW)))
    assert run(corpus, tmp_path / "run", settings) is not None
    found = metrics(tmp_path / "run")
    [back] = [line for line in found if line["kind"] == "rollback"]
    assert back["step"] == 11 and "10 steps in a row" in back["reason"]
    assert "nan" in [line["cause"] for line in metrics(tmp_path / "run", "warning")], "it is not undone with the steps"
    train = [line["step"] for line in found if line["kind"] == "train"]
    assert train == list(range(1, 23)), "undone steps are no part of the record"

    monkeypatch.undo()
    run(corpus, tmp_path / "longer", dataclasses.replace(settings, steps=22 + MAX_IN_A_ROW))
    assert position(tmp_path / "run", 22) == position(tmp_path / "longer", 32), "the text of undone steps has been read"


def test_a_cause_that_stays_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poison(monkeypatch, set(range(8, 999)))
    settings = dataclasses.replace(QUICK, steps=300, validate_every=6, patience=0)
    with pytest.raises(TrainingError, match="the loss must fall"):
        run(counting_corpus(tmp_path), tmp_path / "run", settings)
    found = load_latest(tmp_path / "run", torch.device("cpu"))
    assert found is not None and found[1]["step"] >= 6


def test_weight_decay_and_the_running_average_by_hand() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5))
    optimizer = make_optimizer(model, TrainConfig(weight_decay=0.25))
    decayed, spared = optimizer.param_groups
    assert [tuple(p.shape) for p in decayed["params"]] == [(5, 3)]
    assert decayed["weight_decay"] == 0.25
    assert {tuple(p.shape) for p in spared["params"]} == {(5,)}
    assert spared["weight_decay"] == 0.0
    parameter = nn.Parameter(torch.tensor([1.0]))
    average = RunningAverage([parameter], decay=0.5)
    with torch.no_grad():
        parameter.fill_(3.0)
    average.update(step=0)  # 0.1 of the past at the very beginning: 0.1 * 1 + 0.9 * 3
    assert average.values[0].item() == pytest.approx(2.8)
    average.update(step=1000)  # 0.5 * 2.8 + 0.5 * 3
    assert average.values[0].item() == pytest.approx(2.9)
    average.swap()
    assert parameter.item() == pytest.approx(2.9) and average.values[0].item() == 3


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList([nn.Linear(4, 9), nn.Linear(9, 4)])

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        first, second = self.encoder.layers
        loss: torch.Tensor = second(first(self.embedding(tokens)).relu()).square().sum()
        return loss


def test_muon_takes_the_steps_of_torchs_muon_and_adam() -> None:
    ours, theirs = Layers(), Layers()
    theirs.load_state_dict(ours.state_dict())
    optimizer = make_optimizer(ours, TrainConfig(optimizer="muon", weight_decay=0.1))
    matrices = [layer.weight for layer in theirs.encoder.layers]
    vectors = [layer.bias for layer in theirs.encoder.layers]
    peers: list[torch.optim.Optimizer] = [
        torch.optim.Muon(matrices, lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW([theirs.embedding.weight], lr=0.02, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1),
        torch.optim.AdamW(vectors, lr=0.02, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0),
    ]
    set_rate(optimizer, 0.02)
    for seed in range(5):
        tokens = torch.randint(0, 7, (6,), generator=torch.Generator().manual_seed(seed))
        for model, group in ((ours, [optimizer]), (theirs, peers)):
            model.zero_grad()
            model(tokens).backward()
            for each in group:
                each.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        # torch's Muon computes in bfloat16
        torch.testing.assert_close(one, other, rtol=0.02, atol=2e-3)


def test_prefetched_batches_are_those_of_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: self)
    texts = Ragged.of([[5, number + 6, EOS_ID] for number in range(23)])

    class Stream(PairStream):
        def __init__(self) -> None:
            self.num_read = 0

        def __next__(self) -> Any:
            self.num_read += 1
            if self.num_read == 11:
                raise TrainingError("the text ends")
            return padded_batch(texts, texts, np.array([self.num_read])) if self.num_read % 3 else None

        def state(self) -> dict[str, Any]:
            return {"read": self.num_read}

    positions = []
    for device in ("cpu", "cuda"):
        with Prefetcher(Stream(), torch.device(device)) as batches:
            positions.append([(next(batches) is None, batches.position) for _ in range(10)])
            with pytest.raises(TrainingError, match="the text ends"):
                next(batches)
    assert positions[0] == positions[1] and positions[0][-1] == (False, {"read": 10})
