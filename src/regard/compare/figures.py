"""The report's figures, drawn by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.compare.results import CorpusResults, Curves, best_head
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


def draw_alignments(corpus: CorpusResults) -> Figure:
    """The best head of each model, a sentence a row."""
    num_rows, num_columns = corpus.num_drawn, len(corpus.alignments)
    figure, axes = _figure(num_columns, num_rows, width=5.5 * num_columns, height=4.6 * num_rows)
    for column, (name, (alignments, *_)) in enumerate(corpus.alignments.items()):
        best = best_head(corpus.head_scores(name)[0])
        for tile, sentence in zip(axes[:, column], alignments["sentences"], strict=False):
            tile.imshow(sentence["weights"][best], **_MAP)
            source, target = sentence["source"], sentence["target"]
            small = 7 if len(source) <= 24 else 5
            tile.set_xticks(range(len(source)), source, rotation=75, fontsize=small)
            tile.set_yticks(range(len(target)), target, fontsize=small)
            tile.set_title(f"{name}: {alignments['heads'][best]}", fontsize=9)
    return figure


def draw_heads(corpus: CorpusResults) -> Figure:
    """Every head of every model on one sentence, a model a row."""
    firsts = {name: of_seeds[0]["sentences"][0] for name, of_seeds in corpus.alignments.items()}
    most = max(len(sentence["weights"]) for sentence in firsts.values())
    size = {"width": 1.3 * most + 1.0, "height": 1.7 * len(firsts) + 0.4}
    figure, axes = _figure(most, len(firsts), **size)
    for tiles, (name, sentence) in zip(axes, firsts.items(), strict=True):
        best = best_head(corpus.head_scores(name)[0])
        for head, tile in enumerate(tiles):
            tile.set(xticks=[], yticks=[])
            if head >= len(sentence["weights"]):
                tile.set_axis_off()
                continue
            tile.imshow(sentence["weights"][head], **_MAP)
            tile.set_title(f"{head + 1}{' (best)' if head == best else ''}", fontsize=7)
        tiles[0].set_ylabel(name, fontsize=8)
    return figure


def draw_variations(corpus: CorpusResults) -> Figure:
    """BLEU of the varied model and of each variation, within the trained lengths and beyond."""
    names = corpus.variations
    figure, [[axes]] = _figure(height=1.2 + 0.33 * len(names))
    for shift, part, colour, label in (
        (-0.2, "within", _LINES[0], "as long as in training"),
        (0.2, "beyond", _LINES[4], "longer than any in training"),
    ):
        numbers = [corpus.bleu[name][part] for name in names]
        if any(numbers):
            places = [place + shift for place in range(len(names))]
            means, spreads = [each.mean for each in numbers], [each.spread for each in numbers]
            axes.barh(places, means, xerr=spreads, height=0.38, color=colour, label=label)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="BLEU", title=f"one setting changed at a time, {corpus.name}")
    axes.legend(fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    return figure
