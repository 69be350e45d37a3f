"""Colours tell things apart for every kind of colour vision: simulated, and measured as an eye would."""

import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISIONS = {
    "all three cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)

SCALES = """async () => {
    const { headStyle, shareScale, signedScale } = await import("./colours.js");
    const table = scale => [...Array(256).keys()].map(i => [...scale.table.slice(4 * i, 4 * i + 3)]);
    const heads = [...Array(24).keys()].map(headStyle);
    return { share: table(shareScale()), signed: table(signedScale(1)), heads };
}"""


def rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def linear(colours: Any) -> np.ndarray:
    """Colours [..., 3] from 0 to 255 as amounts of light."""
    share = np.asarray(colours, float) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def luminance(colour: list[int]) -> float:
    return float(linear(colour) @ TO_XYZ[1])


def seen(colours: np.ndarray, vision: np.ndarray) -> np.ndarray:
    """Colours as CIELAB, as this vision has them."""
    xyz = np.clip(linear(colours) @ vision.T, 0, 1) @ TO_XYZ.T / WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1)


def check_scales(colours: dict[str, Any], vision: np.ndarray, scheme: str) -> None:
    share = seen(np.array(colours["share"]), vision)[:, 0]
    # A step of sixteen is more than rounding; each is lighter than the one before.
    assert (np.diff(share[::16]) > 2).all()
    signed = seen(np.array(colours["signed"]), vision)
    below, above = signed[127::-1], signed[128:]
    away = -1 if scheme == "light" else 1
    for half in (below, above):
        assert (away * np.diff(half[::16, 0]) > 2).all(), "from zero on, away from the page"
    apart = np.linalg.norm(below - above, axis=-1)
    assert (apart[32:] > 20).all(), "minus and plus differ from a quarter of the scale on"


def check_heads(heads: list[dict[str, str]], vision: np.ndarray) -> None:
    colours = seen(np.array([rgb(head["colour"]) for head in heads]), vision)
    for i, j in combinations(range(len(heads)), 2):
        if heads[i]["dash"] == heads[j]["dash"]:
            apart = np.linalg.norm(colours[i] - colours[j])
            assert apart > 15, f"heads {i + 1} and {j + 1} look alike ({apart:.0f})"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_eye_tells_them_apart(show: Callable[..., Page], scheme: str) -> None:
    page = show("output")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    colours = page.evaluate(SCALES)
    card = page.evaluate("async () => (await import('./colours.js')).styleColour('--card')")
    page.emulate_media(color_scheme="light")
    for vision in VISIONS.values():
        check_scales(colours, vision, scheme)
        check_heads(colours["heads"], vision)
    # Three to one, which WCAG 2.2 (1.4.11) asks of whatever must be seen.
    ground = luminance([int(each) for each in re.findall(r"\d+", card)[:3]])
    for head in colours["heads"]:
        line = luminance(rgb(head["colour"]))
        contrast = (max(line, ground) + 0.05) / (min(line, ground) + 0.05)
        assert contrast >= 3, f"{head['colour']} on {card}: {contrast:.2f}"
