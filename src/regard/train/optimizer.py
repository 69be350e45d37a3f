"""Adam and its learning rate (Vaswani et al. 2017, section 5.3).

    rate(step) = d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)                  (equation 3)

which is a linear warm-up to the peak (d_model * warmup)^-0.5, then an inverse square root. The cosine
schedule shares the warm-up and falls to zero at the last step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import TrainConfig


def paper_peak(d_model: int, warmup: int) -> float:
    """The highest rate of equation 3, reached when the warm-up ends."""
    return float((d_model * warmup) ** -0.5)


@dataclass(frozen=True)
class Schedule:
    """The learning rate of each step, counted from 1."""

    kind: Literal["inverse-sqrt", "cosine"]
    peak: float
    warmup: int
    steps: int

    def rate(self, step: int) -> float:
        if step <= self.warmup:
            return self.peak * step / self.warmup
        if self.kind == "inverse-sqrt":
            return self.peak * math.sqrt(self.warmup / step)
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.peak * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def make_optimizer(model: nn.Module, settings: TrainConfig) -> torch.optim.AdamW:
    """Adam with decoupled weight decay on matrices; biases and norms are never decayed."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    on_gpu = parameters[0].is_cuda
    return torch.optim.AdamW(
        groups,
        # On a GPU a tensor, so that a recorded step sees it change.
        lr=torch.zeros((), device=parameters[0].device) if on_gpu else 0.0,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        fused=parameters[0].device.type in ("cpu", "cuda"),
        capturable=on_gpu,
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def step_unless(optimizer: torch.optim.AdamW, skips: Float[Tensor, ""]) -> None:
    """One step that changes nothing where `skips` is one; the kernels look at it, nobody waits."""
    if optimizer.param_groups[0]["fused"]:
        # Where torch's gradient scaler would leave what it has found.
        optimizer.found_inf = skips  # type: ignore[attr-defined]
        optimizer.step()
    elif not skips:
        optimizer.step()


class RunningAverage:
    """An exponential moving average of the weights, which is what gets validated and saved.

    It forgets faster at the beginning, so that the random start does not linger in a short run.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], decay: float) -> None:
        self.parameters = list(parameters)
        self.decay = decay
        self.values = [p.detach().clone() for p in self.parameters]

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.values, [p.detach() for p in self.parameters], 1 - decay)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the average and the weights; a second call undoes the first."""
        for parameter, value in zip(self.parameters, self.values, strict=True):
            held = parameter.detach().clone()
            parameter.copy_(value)
            value.copy_(held)
