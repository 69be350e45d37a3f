"""Which device trains."""

from __future__ import annotations

import torch

from regard.errors import UsageError


def choose_device(wanted: str) -> torch.device:
    """The one that was named, or with auto the best there is; a user learns here that there is none."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(wanted)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"device must be one this machine has: got {wanted!r}; use cpu or auto"
        ) from error
    return device


def is_gpu(wanted: str) -> bool:
    """Before anything is put on it."""
    return wanted.startswith("cuda") or (wanted == "auto" and torch.cuda.is_available())
