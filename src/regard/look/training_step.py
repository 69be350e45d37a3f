"""One training step taken apart: a pair, its loss, the gradient of every value, and Adam's update of every weight.

The forward pass is the model's own, with teacher forcing: the decoder reads the reference, shifted by one place, and at each
position is asked for the next token. The gradients are those that torch computes backwards from the loss, and the update is
that of the run's own optimizer. Dropout is off, so that the same step gives the same numbers again.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.config import TrainConfig
from regard.look.subject import Subject
from regard.model.transformer import Model
from regard.trace import Trace
from regard.train.optimizer import make_optimizer, set_rate
from regard.translate.trace import full_pass

GRADIENT, AFTER, WEIGHT = "grad:", "after:", "param:"
"""Prefixes of the names of a value's gradient, of a weight after the update, and of a weight."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class TrainingStep:
    """A step, with all that its arithmetic needs."""

    trace: Trace
    gradients: Arrays  # of the values of the trace, and of the weights under `param:`
    weights: Arrays
    after: Arrays
    moments: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
    """Adam's first moments and the roots of its second, before the step; empty at the beginning of a run"""
    settings: TrainConfig
    number: int
    rate: float
    norm: float
    correct: list[int]
    losses: list[float]
    probabilities_after: list[float]

    @property
    def smoothing(self) -> float:
        return self.settings.label_smoothing or 0.0

    @property
    def clipping(self) -> float:
        """The factor that the gradients are multiplied with, so that their norm is at most `clip`."""
        return min(1.0, self.settings.clip / (self.norm + 1e-6)) if self.settings.clip else 1.0

    def tensor(self, name: str) -> np.ndarray | None:
        """A gradient or a weight after the update, by its name with the prefix."""
        if name.startswith(AFTER):
            return self.after.get(name.removeprefix(AFTER))
        return self.gradients.get(name.removeprefix(GRADIENT)) if name.startswith(GRADIENT) else None

    def shapes(self) -> dict[str, dict[str, list[int]]]:
        arrays = (GRADIENT, self.gradients), (AFTER, self.after)
        return {prefix + name: {"shape": list(each.shape)} for prefix, named in arrays for name, each in named.items()}

    def describe(self, subject: Subject) -> dict[str, Any]:
        """What the page shows of it."""
        log_probabilities = torch.from_numpy(self.trace["logits"]).double().log_softmax(dim=-1)
        right = log_probabilities[range(len(self.correct)), self.correct]
        columns = {
            "read": subject.target.token_strings(self.trace["target.tokens"].tolist()),
            "correct": subject.target.token_strings(self.correct),
            "token": self.correct,
            "log": right.tolist(),
            "mean": log_probabilities.mean(dim=-1).tolist(),
            "loss": self.losses,
            "probability": right.exp().tolist(),
            "after": self.probabilities_after,
        }
        return {
            "step": self.number,
            "rate": self.rate,
            "smoothing": self.smoothing,
            "vocabulary": log_probabilities.shape[1],
            "positions": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "loss": float(np.mean(self.losses)),
            "norms": {name: float(np.linalg.norm(each.astype(np.float64))) for name, each in self.gradients.items()},
            "norm": self.norm,
            "clip": self.settings.clip,
            "clipping": self.clipping,
            "has_moments": bool(self.moments[0]),
        }


def take_step(
    network: Model,
    source: Sequence[int],
    target: Sequence[int],
    settings: TrainConfig,
    *,
    number: int,
    rate: float,
    moments: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]] = ({}, {}),
) -> TrainingStep:
    """Step `number` of a run at this rate, on one pair (the source with its end, the target without ends).

    The network itself keeps its weights.
    """
    network = copy.deepcopy(network).eval()
    correct = [*target, network.config.eos_id]
    trace, losses = backward(network, source, target, settings.label_smoothing or 0.0)
    named = {name: each for name, each in network.named_parameters() if each.grad is not None}
    gradients = {name: _array(each.grad[0]) for name, each in trace.items() if getattr(each, "grad", None) is not None}
    gradients |= {WEIGHT + name: _array(each.grad).copy() for name, each in named.items()}
    weights = {name: _array(each).copy() for name, each in named.items()}
    optimizer = make_optimizer(network, settings)
    for name, parameter in named.items():
        if name in moments[0]:
            first, second = (torch.from_numpy(each[name]).to(parameter) for each in moments)
            state = {"step": torch.tensor(float(number - 1)), "exp_avg": first.clone(), "exp_avg_sq": second**2}
            optimizer.state[parameter] = state
    norm = torch.nn.utils.get_total_norm([each.grad for each in named.values() if each.grad is not None])
    if settings.clip:
        torch.nn.utils.clip_grads_with_norm_(list(named.values()), settings.clip, norm)
    set_rate(optimizer, rate)
    optimizer.step()
    after = Trace()
    with torch.no_grad():
        full_pass(network, source, target, after)
    values = Trace()
    values.metadata = trace.metadata
    for name, value in trace.items():
        values.record(name, _array(value[0]))
    return TrainingStep(
        trace=values,
        gradients=gradients,
        weights=weights,
        after={name: _array(each).copy() for name, each in named.items()},
        moments=moments,
        settings=settings,
        number=number if moments[0] else 1,
        rate=rate,
        norm=float(norm),
        correct=correct,
        losses=losses.detach().tolist(),
        probabilities_after=[float(after["probabilities"][0, i, token]) for i, token in enumerate(correct)],
    )


def backward(
    network: Model, source: Sequence[int], target: Sequence[int], smoothing: float
) -> tuple[Trace, torch.Tensor]:
    """The pass, the loss of each position, and the gradient of their mean left in every value and every weight."""
    network.zero_grad(set_to_none=True)
    trace = Trace()
    with torch.enable_grad():
        full_pass(network, source, target, trace)
        for _, value in trace.items():
            if isinstance(value, torch.Tensor) and value.requires_grad:
                value.retain_grad()
        log_probabilities = trace["logits"][0].log_softmax(dim=-1)
        correct = torch.tensor([*target, network.config.eos_id])
        likelihood = log_probabilities.gather(-1, correct[:, None])[:, 0]
        losses = -(1 - smoothing) * likelihood - smoothing * log_probabilities.mean(dim=-1)
        losses.mean().backward()
    return trace, losses


def _array(value: Any) -> np.ndarray:
    return value.detach().numpy()
