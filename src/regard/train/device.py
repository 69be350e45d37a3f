"""The device that trains, and its precision."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from regard.errors import UsageError


def choose_device(wanted: str) -> torch.device:
    """The named device; `auto` is a GPU where there is one."""
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
    """Whether `choose_device` will choose a GPU; allocates nothing on it."""
    return wanted.startswith("cuda") or (wanted == "auto" and torch.cuda.is_available())


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """bf16 matrix products where asked for, or by default on a GPU; the weights stay fp32."""
    enabled = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    # A cache of converted weights would outlive the recording it was made in.
    return torch.autocast(device.type, torch.bfloat16, enabled=enabled, cache_enabled=False)


@contextmanager
def fastest_products(device: torch.device, precision: str) -> Iterator[None]:
    """On ARM processors torch's BLAS multiplies fp32 faster than oneDNN, torch's first choice."""
    affected = device.type == "cpu" and precision != "bf16" and platform.machine() == "aarch64"
    one_dnn: Any = torch.backends.mkldnn  # its stubs have no setter
    before = one_dnn.enabled
    one_dnn.enabled = before and not affected
    try:
        yield
    finally:
        one_dnn.enabled = before
