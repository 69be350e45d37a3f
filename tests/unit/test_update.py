"""An update's surroundings on a CPU."""

from __future__ import annotations

import platform

import pytest
import torch

from regard.train.device import fastest_products

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("machine", "precision", "expected"),
    [("aarch64", "auto", False), ("aarch64", "bf16", True), ("x86_64", "fp32", True)],
)
def test_one_dnn_multiplies_only_where_it_is_faster(
    monkeypatch: pytest.MonkeyPatch, machine: str, precision: str, expected: bool
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", True)
    with fastest_products(CPU, precision):
        assert torch.backends.mkldnn.enabled is expected
    assert torch.backends.mkldnn.enabled


def test_the_setting_comes_back_when_a_step_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", True)
    with pytest.raises(MemoryError), fastest_products(CPU, "fp32"):
        raise MemoryError
    assert torch.backends.mkldnn.enabled
