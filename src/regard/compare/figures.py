"""The report's figures, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.compare.measures import best_head
from regard.compare.results import Curves
from regard.train.summary import picture_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""colours distinguishable with any colour vision"""
_MAP: Any = {"cmap": "cividis", "vmin": 0, "vmax": 1, "aspect": "auto"}


def png(figure: Figure, footer: str) -> bytes:
    figure.supxlabel(footer, fontsize=6, alpha=0.7)
    return picture_of(figure, dpi=110)


def _figure(columns: int = 1, rows: int = 1, width: float = 7.0, height: float = 4.2) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def draw_curves(curves: Curves, **settings: Any) -> Figure:
    """A line for each model, with a bar for the spread over the seeds; settings are those of the axes."""
    figure, [[axes]] = _figure()
    for i, (name, by) in enumerate(curves.items()):
        axes.errorbar(
            list(by),
            [each.mean for each in by.values()],
            yerr=[each.spread for each in by.values()],
            label=name,
            color=_LINES[i % len(_LINES)],
            marker="osD^vPX"[i % len(_LINES)],
            markersize=4,
            capsize=2,
        )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    axes.set(**settings)
    return figure


def draw_alignments(alignments: Mapping[str, Mapping[str, Any]]) -> Figure:
    """The best head of each model, a sentence a row."""
    num_rows, num_columns = max(len(each["drawn"]) for each in alignments.values()), len(alignments)
    figure, axes = _figure(num_columns, num_rows, width=5.5 * num_columns, height=4.6 * num_rows)
    for column, (name, found) in enumerate(alignments.items()):
        head, *_ = best_head(found)
        for tile, sentence in zip(axes[:, column], found["drawn"], strict=False):
            tile.imshow(sentence["weights"][head], **_MAP)
            source, target = sentence["source"], sentence["target"]
            small = 7 if len(source) <= 24 else 5
            tile.set_xticks(range(len(source)), source, rotation=75, fontsize=small)
            tile.set_yticks(range(len(target)), target, fontsize=small)
            tile.set_title(f"{name}: {found['heads'][head]}", fontsize=9)
    return figure
