"""The report's figures as PNGs, drawn by matplotlib."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.compare.results import (
    CorpusResults,
    Measurement,
    Results,
    aligned_models,
    best_head,
    head_scores,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""colours distinguishable with any colour vision"""
_MARKERS = "osD^vPX"
_MAP = "cividis"


def draw_all(results: Results, footer: str) -> dict[str, bytes]:
    """Every figure that there are results for, by the name of its file."""
    figures: dict[str, Figure] = {}
    for corpus in results.corpora:
        if corpus.lineage:
            figures[f"length-{corpus.name}"] = _draw_lengths(corpus)
        if shown := shown_alignments(results, corpus):
            figures[f"alignment-{corpus.name}"] = _draw_alignments(shown)
            figures[f"heads-{corpus.name}"] = _draw_heads(shown[0])
        if corpus.variations:
            figures[f"variations-{corpus.name}"] = _draw_variations(corpus)
    if results.speed:
        figures["speed"] = _draw_speed(results)
    if results.recall:
        figures["recall"] = _draw_recall(results)
    contents = {}
    for name, figure in figures.items():
        file = io.BytesIO()
        figure.supxlabel(footer, fontsize=6, alpha=0.7)
        with warnings.catch_warnings():
            # Letters that the font lacks are drawn as boxes.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(file, format="png", dpi=110)
        contents[name] = file.getvalue()
    return contents


def _figure(
    columns: int = 1, rows: int = 1, width: float = 7.0, height: float = 4.2
) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _lines(axes: Axes, found: Mapping[str, Mapping[int, Measurement]]) -> None:
    """A line for each model, with a bar for the spread over the seeds."""
    for i, (name, by) in enumerate(found.items()):
        axes.errorbar(
            list(by),
            [each.mean for each in by.values()],
            yerr=[each.spread for each in by.values()],
            label=name,
            color=_LINES[i % len(_LINES)],
            marker=_MARKERS[i % len(_MARKERS)],
            markersize=4,
            capsize=2,
        )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def _draw_lengths(corpus: CorpusResults) -> Figure:
    figure, [[axes]] = _figure()
    names = list(corpus.groups)
    _lines(
        axes,
        {name: dict(enumerate(each.by_length.values())) for name, each in corpus.lineage.items()},
    )
    axes.set_xticks(range(len(names)), [f"{n}\n({len(corpus.groups[n])})" for n in names])
    axes.set(xlabel="words of the source (sentences of the test)", ylabel="BLEU", ylim=(0, None))
    longest = corpus.about["longest_train"]
    beyond = [i for i, n in enumerate(names) if int(n.split("–")[0].split()[-1]) > longest]
    if beyond:
        axes.axvspan(beyond[0] - 0.5, len(names) - 0.5, color="grey", alpha=0.12)
        above = axes.get_xaxis_transform()
        where = (beyond[0] - 0.45, 0.96)
        axes.text(*where, "longer than any in training", fontsize=8, alpha=0.7, transform=above)
    axes.set_title(f"BLEU against sentence length, {corpus.name}", fontsize=10)
    return figure


def _draw_speed(results: Results) -> Figure:
    figure, axes = _figure(columns=len(results.speed), width=3.0 + 4.0 * len(results.speed))
    for tile, (device, models) in zip(axes[0], results.speed.items(), strict=True):
        _lines(tile, models)
        tile.set_xscale("log", base=2)
        lengths = [*next(iter(models.values()))]
        tile.set_yscale("log")
        tile.set_xticks(lengths, [str(length) for length in lengths])
        tile.set(xlabel="tokens of the source and of the target", ylabel="training tokens a second")
        tile.set_title(f"training speed, {device}", fontsize=10)
    return figure


def _draw_recall(results: Results) -> Figure:
    """Accuracy of naming a symbol seen k words ago."""
    assert results.study.recall is not None
    figure, [[axes]] = _figure()
    _lines(axes, results.recall)
    axes.set_xscale("log")
    axes.axhline(results.guessing, color="grey", linestyle=":", linewidth=1)
    axes.text(1, results.guessing + 0.01, "guessing", fontsize=8, alpha=0.7)
    axes.axvline(results.study.recall.longest_train, color="grey", linestyle="--", linewidth=1)
    words = "words since the symbol (dashed: the farthest in training)"
    axes.set(ylim=(0, 1.03), xlabel=words, ylabel="accuracy of recalling it")
    axes.set_title("reference window", fontsize=10)
    return figure


class ShownAlignment(NamedTuple):
    """One sentence in one model."""

    model: str
    head_name: str
    sentence: dict[str, Any]
    """tokens and weights"""
    best: int
    """the head that aligns best"""


def shown_alignments(results: Results, corpus: CorpusResults) -> list[list[ShownAlignment]]:
    """For each sentence to draw: the first model's attention, and the best head of each other."""
    models = aligned_models(corpus, results.study)
    first = corpus.models[models[0]].alignments[0] if models else {"sentences": []}
    found: list[list[ShownAlignment]] = [[] for each in first["sentences"] if "weights" in each]
    for name in models if found else ():
        alignments = corpus.models[name].alignments[0]
        scores = head_scores(alignments, None if name == models[0] else first)
        best = best_head(scores)
        for row, sentence in zip(found, alignments["sentences"], strict=False):
            row.append(ShownAlignment(name, scores[best].name, sentence, best))
    return found


def _draw_alignments(shown: Sequence[Sequence[ShownAlignment]]) -> Figure:
    """Matrices side by side, a sentence a row."""
    columns = len(shown[0])
    figure, axes = _figure(columns, len(shown), width=5.5 * columns, height=4.6 * len(shown))
    for tiles, row in zip(axes, shown, strict=True):
        for tile, (name, head, sentence, number) in zip(tiles, row, strict=True):
            tile.imshow(sentence["weights"][number], cmap=_MAP, vmin=0, vmax=1, aspect="auto")
            small = 7 if len(sentence["source"]) <= 24 else 5
            source, target = sentence["source"], sentence["target"]
            tile.set_xticks(range(len(source)), source, rotation=75, fontsize=small)
            tile.set_yticks(range(len(target)), target, fontsize=small)
            tile.set_title(f"{name}: {head}", fontsize=9)
    return figure


def _draw_heads(shown: Sequence[ShownAlignment]) -> Figure:
    """Every head of every model on one sentence, a model a row."""
    most = max(len(sentence["weights"]) for _, _, sentence, _ in shown)
    figure, axes = _figure(most, len(shown), width=1.3 * most + 1.0, height=1.7 * len(shown) + 0.4)
    for tiles, (name, _, sentence, best) in zip(axes, shown, strict=True):
        for head, tile in enumerate(tiles):
            tile.set_xticks([])
            tile.set_yticks([])
            if head >= len(sentence["weights"]):
                tile.set_axis_off()
                continue
            tile.imshow(sentence["weights"][head], cmap=_MAP, vmin=0, vmax=1, aspect="auto")
            tile.set_title(f"{head + 1}{' (best)' if head == best else ''}", fontsize=7)
        tiles[0].set_ylabel(name, fontsize=8)
    return figure


def _draw_variations(corpus: CorpusResults) -> Figure:
    """BLEU of the varied model and of each variation, within the trained lengths and beyond."""
    rows = corpus.variations
    figure, [[axes]] = _figure(height=1.2 + 0.33 * len(rows))
    places = range(len(rows))
    for shift, part, colour, label in (
        (-0.2, "within", _LINES[0], "as long as in training"),
        (0.2, "beyond", _LINES[4], "longer than any in training"),
    ):
        numbers = [getattr(each, part) for each in rows.values()]
        if any(number.values for number in numbers):
            axes.barh(
                [place + shift for place in places],
                [number.mean for number in numbers],
                xerr=[number.spread for number in numbers],
                height=0.38,
                color=colour,
                label=label,
            )
    axes.set_yticks(places, list(rows), fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("BLEU")
    axes.legend(fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    axes.set_title(f"one setting changed at a time, {corpus.name}", fontsize=10)
    return figure
