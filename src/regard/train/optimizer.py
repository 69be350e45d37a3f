"""Adam and Muon, the running average of the weights, and the guard against harmful steps."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import TrainConfig

SPIKE = 50.0  # Gradient norm above which a step is skipped, as a multiple of the running average.
NUM_USUAL = 100
"""Window of the running gradient-norm average, in steps. Until it is full, only NaN and infinity are rejected."""
MAX_IN_A_ROW = 10  # Consecutive skipped steps before the run is rolled back.


MUON_MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""coefficients of an odd polynomial that drives every singular value towards one (Jordan and others, 2024)"""


def orthogonal(matrices: Float[Tensor, "count rows columns"]) -> Float[Tensor, "count rows columns"]:
    """The nearest matrices with singular values of about one (0.7 to 1.2), by five steps of Newton and Schulz."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    is_tall = x.size(1) > x.size(2)
    x = x.mT if is_tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if is_tall else x).to(matrices.dtype)


class Muon(torch.optim.AdamW):
    """Adam, but groups marked `orthogonal` take the direction of Muon: their momentum made orthogonal.

    The update is scaled so that its entries are as large as Adam's usually are (0.2, Liu and others, 2025); one rate
    serves both. It reads `found_inf` on the device as Adam's fused kernels do.
    """

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        groups = self.param_groups
        try:
            self.param_groups = [group for group in groups if not group.get("orthogonal")]
            super().step(closure)
        finally:
            self.param_groups = groups
        skips = getattr(self, "found_inf", None)
        for group in groups:
            if group.get("orthogonal"):
                self._step_orthogonal(group, skips)

    def _step_orthogonal(self, group: dict[str, Any], skips: Tensor | None) -> None:
        by_shape: dict[torch.Size, list[Tensor]] = {}
        for parameter in group["params"]:
            if parameter.grad is not None:
                by_shape.setdefault(parameter.shape, []).append(parameter)
        for shape, parameters in by_shape.items():
            for parameter in parameters:
                if "exp_avg" not in self.state[parameter]:
                    self.state[parameter]["exp_avg"] = torch.zeros_like(parameter)
            moments = [self.state[p]["exp_avg"] for p in parameters]
            momentum = torch.stack(moments)
            gradient = torch.stack([p.grad for p in parameters if p.grad is not None])
            rate = torch.as_tensor(group["lr"], device=gradient.device)
            if skips is not None:
                # A skipped step's gradient may be NaN: `where` instead of a product.
                gradient = gradient.where(skips == 0, momentum)
                rate = rate * (1 - skips)
            momentum.lerp_(gradient, 1 - MUON_MOMENTUM)
            update = orthogonal(gradient.lerp(momentum, MUON_MOMENTUM))
            update *= -rate * 0.2 * max(shape) ** 0.5
            torch._foreach_copy_(moments, list(momentum))
            if group["weight_decay"]:
                torch._foreach_mul_(parameters, 1 - rate * group["weight_decay"])
            torch._foreach_add_(parameters, list(update))


def is_orthogonal(name: str, num_dims: int, settings: TrainConfig) -> bool:
    """Whether a weight takes the steps of Muon: the matrices of the layers, in a run that is set so."""
    return settings.optimizer == "muon" and num_dims == 2 and ".layers." in name


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weights that learn: all, or those of the adapters alone."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def make_optimizer(model: nn.Module, settings: TrainConfig) -> torch.optim.AdamW:
    """Adam, or Muon for the layers' matrices. Decoupled weight decay on matrices; never on biases and norms."""
    named = trained(model)
    parameters = list(named.values())
    inner = [p for name, p in named.items() if is_orthogonal(name, p.dim(), settings)]
    is_inner = set(map(id, inner))
    groups = [
        {
            "params": [p for p in parameters if p.dim() > 1 and id(p) not in is_inner],
            "weight_decay": settings.weight_decay,
        },
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    if inner:
        groups.append({"params": inner, "weight_decay": settings.weight_decay, "orthogonal": True})
    on_gpu = parameters[0].is_cuda
    return (Muon if inner else torch.optim.AdamW)(
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
    """One step that changes nothing where `skips` is one. The kernels read it, so the host does not wait."""
    if optimizer.param_groups[0]["fused"]:
        # The attribute that torch's gradient scaler sets.
        optimizer.found_inf = skips  # type: ignore[attr-defined]
        optimizer.step()
    elif not skips:
        optimizer.step()


class SkippedSteps(NamedTuple):
    total: int
    in_a_row: int
    longest_row: int


class Guard:
    """Rejects steps whose gradient is not finite or far larger than usual, and counts them.

    The decision is made on the device: the host does not wait for it, and a recorded step can contain it. Adam's
    fused kernels leave weights, moments and step count alone where `found_inf` is one. The host reads the counts
    only when it reads the loss.
    """

    def __init__(self, device: torch.device) -> None:
        self.numbers = torch.zeros(5, device=device)
        """the guard's whole state, saved with the run"""
        self._usual, self._num_good, self._total, self._in_a_row, self._longest = self.numbers
        self.skips = torch.zeros((), device=device)
        """one if the last step was skipped, else zero"""
        self.norm = torch.zeros((), device=device)
        """the gradient's norm at the last step, before clipping"""

    @torch.no_grad()
    def judge(self, norm: Float[Tensor, ""]) -> None:
        spike = (self._num_good >= NUM_USUAL) & (norm > SPIKE * self._usual)
        bad = ~norm.isfinite() | spike
        self.skips.copy_(bad)
        self.norm.copy_(norm)
        self._num_good += ~bad
        weight = ~bad / self._num_good.clamp(1, NUM_USUAL)
        # `where` instead of a product: zero times NaN is NaN.
        self._usual += weight * (norm.where(~bad, self._usual) - self._usual)
        self._total += self.skips
        self._in_a_row.add_(1).mul_(self.skips)
        self._longest.copy_(self._longest.maximum(self._in_a_row))

    def read(self) -> SkippedSteps:
        """The counts; the host waits for the device."""
        return SkippedSteps(*map(int, self.numbers[2:].tolist()))

    def forget_row(self) -> None:
        """Reset the count of consecutive skipped steps, after a rollback."""
        self._in_a_row.zero_()
        self._longest.zero_()


class RunningAverage:
    """An exponential moving average of the weights, which is validated and saved.

    The decay is lower at the beginning, so that the random start does not linger in a short run.
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
