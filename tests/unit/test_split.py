"""A step that does not fit into memory is done in pieces, and is the same step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from train_fixtures import make_batch, make_updater

from regard.errors import TrainingError
from regard.text.tokenizer import PAD_ID
from regard.train.memory import OutOfMemory, SplittingUpdater, area, is_out_of_memory, split
from regard.train.prefetch import DeviceBatch
from regard.train.update import Updater

ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nMore of it."),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
    MemoryError(),
]


def limit(updater: Updater, largest: int, error: BaseException, sizes: list[int]) -> None:
    """Memory for batches of so many tokens: a larger one fails half-way, when some gradients are there."""
    accumulate = updater.accumulate

    def failing(tensors: Any, packed: bool) -> Any:
        sizes.append(tensors.source.numel() + tensors.target_input.numel())
        sums = accumulate(tensors, packed)
        if sizes[-1] > largest:
            raise error
        return sums

    updater.accumulate = failing  # type: ignore[method-assign]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_a_split_step_is_the_whole_step(packed: bool, error: BaseException) -> None:
    batches = [make_batch(packed), make_batch(packed, [4, 9], seed=8)]
    whole, split = make_updater(packed), make_updater(packed)
    said: list[str] = []
    sizes: list[int] = []
    limit(split, 60, error, sizes)
    careful = SplittingUpdater(split, said.append)
    for _ in range(3):
        expected, found = whole(batches, rate=1e-3), careful(batches, rate=1e-3)
        torch.testing.assert_close(found.loss, expected.loss, rtol=1e-5, atol=1e-5)
    for one, other in zip(whole.model.parameters(), split.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=1e-6)
    assert said and all("out of memory" in line and "\n" not in line for line in said)
    assert max(sizes) > 60, "nothing was too large"


def test_later_steps_begin_with_the_smaller_pieces() -> None:
    updater, said, sizes = make_updater(False), list[str](), list[int]()
    limit(updater, 60, ERRORS[0], sizes)
    careful = SplittingUpdater(updater, said.append)
    careful([make_batch(False)], rate=1e-3)
    assert f"parts of at most {sizes[0] // 2:,}," in said[0]
    num_said = len(said)
    sizes.clear()
    careful([make_batch(False, seed=4)], rate=1e-3)
    assert len(said) == num_said and max(sizes) <= 60


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_pieces_hold_every_sentence_once(packed: bool) -> None:
    batch = make_batch(packed)
    pieces = split(batch, 40)
    assert len(pieces) > 1 and all(area(piece) <= 40 for piece in pieces)
    assert sum(piece.num_targets for piece in pieces) == batch.num_targets
    assert sum(piece.num_tokens for piece in pieces) == batch.num_tokens

    def tokens(fed: DeviceBatch) -> list[int]:
        return [t for t in fed.tensors.target_output.flatten().tolist() if t != PAD_ID]

    assert [t for piece in pieces for t in tokens(piece)] == tokens(batch)
    assert split(batch, None) == [batch] == split(batch, area(batch))


def test_one_pair_that_does_not_fit_ends_the_run() -> None:
    updater = make_updater(False)
    limit(updater, 3, ERRORS[0], [])
    with pytest.raises(
        TrainingError, match="at least one pair, of .* tokens.*lower data.max_length"
    ):
        SplittingUpdater(updater, lambda text: None)([make_batch(False)], rate=1e-3)


def test_a_recorded_run_asks_for_smaller_batches() -> None:
    updater = make_updater(True)
    updater.records, updater.can_retry = True, False
    limit(updater, 3, ERRORS[0], [])
    updater._num_updates = -9  # far from the recording, which needs a GPU
    with pytest.raises(OutOfMemory, match="must hold a batch of 172 tokens"):
        SplittingUpdater(updater, lambda text: None)([make_batch(True)], rate=1e-3)


def test_other_errors_are_not_taken_for_it() -> None:
    assert not is_out_of_memory(RuntimeError("shapes cannot be multiplied"))
    updater = make_updater(False)
    limit(updater, 3, RuntimeError("shapes cannot be multiplied"), [])
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        SplittingUpdater(updater, lambda text: None)([make_batch(False)], rate=1e-3)


def test_memory_that_ends_in_the_optimizer_is_not_tried_again() -> None:
    updater = make_updater(False)

    def failing() -> None:
        raise ERRORS[0]

    updater.apply = failing  # type: ignore[method-assign]
    with pytest.raises(OutOfMemory, match="must hold the optimizer's moments"):
        SplittingUpdater(updater, lambda text: None)([make_batch(False)], rate=1e-3)
