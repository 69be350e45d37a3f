"""The array operations of a search, for NumPy arrays and torch tensors.

Scores over the vocabulary stay where the model left them, perhaps on a GPU. The few candidates of a step come to the
host, where all bookkeeping happens.
"""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

Array = Any  # a NumPy array or a torch tensor
Host = npt.NDArray[Any]
_BLOCK = 128  # tokens whose largest score is found together


class Arrays:
    """The operations for NumPy arrays; TorchArrays has the same for tensors."""

    module: Any = np  # numpy or torch, for functions that both spell alike

    def integers(self, values: Host) -> Array:
        """Token ids or row numbers as the model takes them."""
        return np.ascontiguousarray(values, dtype=np.int64)

    def host(self, values: Array) -> Host:
        """The values as NumPy in the host's memory."""
        return np.asarray(values)

    def log_softmax(self, logits: Array) -> Array:
        """Log-probabilities in a fresh array; a row without any possible token is all -inf."""
        if logits.dtype not in (np.float32, np.float64):
            logits = logits.astype(np.float32)
        # The largest term is exp(0), so a sum below one means that nothing was possible at all.
        least = np.finfo(logits.dtype).min
        with np.errstate(over="ignore"):
            shifted = logits - np.maximum(logits.max(axis=1, keepdims=True), least)
        total = np.exp(shifted).sum(axis=1, keepdims=True)
        shifted -= np.log(np.maximum(total, 1))
        return shifted

    def pick(self, scores: Array, rows: Host, tokens: Host) -> Array:
        """scores[rows, tokens], left where the scores are."""
        return scores[self.integers(rows), self.integers(tokens)]

    def top(self, scores: Array, count: int) -> tuple[Host, Host]:
        """The largest scores of each row and their tokens, best first, on the host; NumPy orders ties by token."""
        num_rows, vocab = scores.shape
        count, rows = min(count, vocab), np.arange(num_rows)
        if count == 1:
            tokens = scores.argmax(axis=1)[:, None]
        elif count * _BLOCK >= vocab:
            tokens = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        else:
            # The largest of the block with the largest maximum, again and again: a sort would read all many times.
            left = np.full((num_rows, vocab + -vocab % _BLOCK), -np.inf, dtype=scores.dtype)
            left[:, :vocab] = scores
            blocks = left.reshape(num_rows, -1, _BLOCK)
            maxima, tokens = blocks.max(axis=2), np.empty((num_rows, count), dtype=np.int64)
            for rank in range(count):
                best = maxima.argmax(axis=1)
                tokens[:, rank] = token = best * _BLOCK + blocks[rows, best].argmax(axis=1)
                left[rows, token] = -np.inf
                maxima[rows, best] = blocks[rows, best].max(axis=1)
        values = scores[rows[:, None], tokens].astype(np.float64)
        values[np.isnan(values)] = -np.inf
        return values, tokens

    def doubles(self, values: Array) -> Array:
        """In double precision, where the values are."""
        return values.astype(np.float64)

    def numbers(self, values: Host) -> Array:
        """In double precision, brought from the host."""
        return values

    def descending(self, values: Array) -> Array:
        """Each row sorted, the largest first."""
        return np.sort(values, axis=1)[:, ::-1]

    def take(self, values: Array, columns: Array) -> Array:
        """values[row, columns[row]] for each row."""
        return np.take_along_axis(values, columns, axis=1)


class TorchArrays(Arrays):
    def __init__(self, device: Any) -> None:
        import torch

        self.module: Any = torch
        self._device = torch.device(device)
        # Apple's GPUs have no double precision.
        self._double = torch.float32 if self._device.type == "mps" else torch.float64

    def integers(self, values: Host) -> Array:
        tensor = self.module.from_numpy(np.ascontiguousarray(values, dtype=np.int64))
        return tensor.to(self._device, non_blocking=True)

    def host(self, values: Array) -> Host:
        return np.asarray(values.detach().cpu())

    def log_softmax(self, logits: Array) -> Array:
        torch = self.module
        if logits.dtype not in (torch.float32, torch.float64):
            logits = logits.float()
        scores = torch.log_softmax(logits.detach(), dim=-1)
        return torch.nan_to_num_(scores, nan=-torch.inf, neginf=-torch.inf)

    def top(self, scores: Array, count: int) -> tuple[Host, Host]:
        values, tokens = scores.topk(min(count, scores.shape[1]), dim=1)
        return self.host(values).astype(np.float64), self.host(tokens)

    def doubles(self, values: Array) -> Array:
        return values.to(self._double)

    def numbers(self, values: Host) -> Array:
        return self.module.from_numpy(values).to(self._device, self._double, non_blocking=True)

    def descending(self, values: Array) -> Array:
        return values.sort(dim=1, descending=True).values

    def take(self, values: Array, columns: Array) -> Array:
        return values.gather(1, columns)


@functools.cache
def _arrays_on(device: Any) -> Arrays:
    return Arrays() if device is None else TorchArrays(device)


def arrays_of(values: Array) -> Arrays:
    """The operations for this kind of array."""
    return _arrays_on(None if isinstance(values, np.ndarray) else values.device)


def arrays_for(model: object) -> Arrays:
    """The operations for what a model takes before it has returned anything: see StepModel."""
    return _arrays_on(getattr(model, "device", None))


def log_probabilities_of(model: object, logits: Array) -> Array:
    """In a fresh array that a search may write into; see StepModel for `normalised`."""
    return logits + 0 if getattr(model, "normalised", False) else arrays_of(logits).log_softmax(logits)
