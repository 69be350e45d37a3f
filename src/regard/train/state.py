"""Everything a run is, apart from its settings, as named tensors; and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.train.parallel import fill, whole

if TYPE_CHECKING:
    from regard.train.loop import Trainer


def weights_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every weight once, a shared table under its first name, and the statistics of norms that have some."""
    named = (*model.named_parameters(), *model.named_buffers())
    return {name: value.detach() for name, value in named}


def tensors_of(trainer: Trainer) -> dict[str, Tensor]:
    """Whole tensors, so that any number of processes can go on with them."""
    tensors = {f"weights.{name}": whole(value) for name, value in weights_of(trainer.model).items()}
    for i, (name, parameter) in enumerate(trainer.model.named_parameters()):
        if trainer.settings.ema:
            tensors[f"average.{name}"] = whole(trainer.average.values[i])
        for key, value in trainer.optimizer.state[parameter].items():
            tensors[f"adam.{key}.{name}"] = whole(torch.as_tensor(value))
    tensors["guard"] = trainer.update.guard.numbers
    tensors["generator.cpu"] = torch.get_rng_state()
    if trainer.device.type == "cuda":
        tensors["generator.cuda"] = torch.cuda.get_rng_state(trainer.device)
    return tensors


def put_back(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    """Into the places where they are: a recorded step knows no others."""
    for name, value in weights_of(trainer.model).items():
        fill(value, tensors[f"weights.{name}"])
    for i, (name, parameter) in enumerate(trainer.model.named_parameters()):
        if trainer.settings.ema:
            fill(trainer.average.values[i], tensors[f"average.{name}"])
        moments = trainer.optimizer.state[parameter]
        for key in ("step", "exp_avg", "exp_avg_sq"):
            if key not in moments:
                moments[key] = _place(trainer, key, parameter)
            fill(moments[key], tensors[f"adam.{key}.{name}"])
    trainer.update.guard.numbers.copy_(tensors["guard"])


def put_back_generators(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    torch.set_rng_state(tensors["generator.cpu"].cpu())
    if "generator.cuda" in tensors and trainer.device.type == "cuda":
        torch.cuda.set_rng_state(tensors["generator.cuda"].cpu(), trainer.device)


def _place(trainer: Trainer, key: str, parameter: Tensor) -> Tensor:
    if key != "step":
        return torch.zeros_like(parameter, memory_format=torch.preserve_format)
    # A fused Adam counts its steps on the device, the plain one on the host.
    fused = bool(trainer.optimizer.param_groups[0]["fused"])
    return torch.zeros((), device=parameter.device if fused else "cpu")
