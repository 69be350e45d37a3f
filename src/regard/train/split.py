"""When memory runs out in a step, the step is done again in smaller pieces instead of being lost.

Gradients are sums over sentences divided by the tokens of the whole step, so it does not matter in how many
pieces they were gathered: every sentence counts once, and the step is the same up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.errors import TrainingError
from regard.text.tokenizer import PAD_ID
from regard.train.feed import Fed
from regard.train.loss import Sums, Tensors
from regard.train.update import Updater

_MESSAGES = ("can't allocate memory", "not enough memory", "ALLOC_FAILED", "out of memory")
"""of RuntimeErrors that mean the same: a CPU has no error of its own for it, nor has cuBLAS"""


class OutOfMemory(TrainingError):
    """The run does not fit as it is; only one with smaller batches can go on."""


class SplittingUpdater:
    """Does updates, in pieces as small as memory has turned out to need."""

    def __init__(self, update: Updater, say: Callable[[str], None]) -> None:
        self.update, self.say = update, say
        self._largest: int | None = None
        """tokens of a piece, padding included; none: as they come"""

    def __call__(
        self, batches: list[Fed], rate: float, num_targets: Tensor | float | None = None
    ) -> Sums:
        while True:
            pieces = [piece for fed in batches for piece in cut(fed, self._largest)]
            try:
                sums = self.update.gather(pieces, num_targets)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                reason = _first_line(error)
            # Here and not above: the error's traceback holds on to the tensors of the step.
            self._make_room(pieces, reason)
        try:
            self.update.advance(rate)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            # Some weights may have been updated already, so it cannot be done again.
            raise OutOfMemory(
                f"memory must hold the optimizer's moments beside a batch: it does not ({_first_line(error)}); "
                "lower batch_tokens, or take a smaller model"
            ) from error
        return sums

    def _make_room(self, pieces: list[Fed], reason: str) -> None:
        size, num_sequences = max((area(fed), _num_sequences(fed)) for fed in pieces)
        if not self.update.can_retry:
            raise OutOfMemory(
                f"memory must hold a batch of {size:,} tokens: it does not ({reason}); "
                "lower batch_tokens, or take a smaller model"
            )
        if num_sequences < 2:
            raise TrainingError(
                f"memory must hold at least one pair, of {size:,} tokens: it does not ({reason}); "
                "lower data.max_length, or take a smaller model"
            )
        self._largest = size // 2
        self.update.forget()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.say(
            f"out of memory with {size:,} tokens at once: going on in pieces of at most "
            f"{self._largest:,}, the same steps in more time"
        )


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _MESSAGES)


def _first_line(error: BaseException) -> str:
    return str(error).split("\n")[0]


def area(fed: Fed) -> int:
    """Tokens that are computed on, padding included."""
    return fed.tensors.source.numel() + fed.tensors.target_input.numel()


def cut(fed: Fed, largest: int | None) -> list[Fed]:
    """The batch as pieces of at most so many tokens, or of a single pair."""
    if largest is None or area(fed) <= largest or _num_sequences(fed) < 2:
        return [fed]
    middle = _num_sequences(fed) // 2
    part = _packed_part if fed.packed else _padded_part
    halves = part(fed, 0, middle), part(fed, middle, _num_sequences(fed))
    return [piece for half in halves for piece in cut(half, largest)]


def _num_sequences(fed: Fed) -> int:
    """Without the dummies and empty slots at the end of a packed batch."""
    lengths = fed.tensors.target_lengths
    return int((lengths.cumsum(0) - lengths < _count(fed.tensors.target_input)).sum())


def _padded_part(fed: Fed, start: int, stop: int) -> Fed:
    source_lengths = fed.tensors.source_lengths[start:stop]
    target_lengths = fed.tensors.target_lengths[start:stop]
    source, target = int(source_lengths.max()), int(target_lengths.max())
    return _part(
        fed,
        Tensors(
            fed.tensors.source[start:stop, :source],
            source_lengths,
            fed.tensors.target_input[start:stop, :target],
            fed.tensors.target_output[start:stop, :target],
            target_lengths,
        ),
    )


def _packed_part(fed: Fed, start: int, stop: int) -> Fed:
    source, target = (
        slice(int(lengths[:start].sum()), int(lengths[:stop].sum()))
        for lengths in (fed.tensors.source_lengths, fed.tensors.target_lengths)
    )
    return _part(
        fed,
        Tensors(
            fed.tensors.source[:, source],
            fed.tensors.source_lengths[start:stop],
            fed.tensors.target_input[:, target],
            fed.tensors.target_output[:, target],
            fed.tensors.target_lengths[start:stop],
        ),
    )


def _part(fed: Fed, tensors: Tensors) -> Fed:
    num_tokens = _count(tensors.source) + _count(tensors.target_input)
    return Fed(tensors, fed.packed, num_tokens, _count(tensors.target_output), fed.position)


def _count(tokens: Tensor) -> int:
    return int((tokens != PAD_ID).sum())
