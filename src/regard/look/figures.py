"""A run as one figure, PNG or SVG, drawn by matplotlib: for a paper, a slide, a machine without a browser."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import MissingExtra
from regard.look.document import describe
from regard.look.run import Run
from regard.look.whatif import attentions
from regard.text.tokenizer import SPACE_MARK
from regard.trace import cross_attentions
from regard.train.summary import picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
_COLOURS = "cividis"


def figure_bytes(run: Run, kind: str) -> bytes:
    """The run as the bytes of a file of this format."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "matplotlib", "plot", "drawing a picture") from error
    # Text stays text, and a dollar sign is no formula.
    settings: Any = {"svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context(settings):
        return picture_of(draw(run), kind)


def draw(run: Run) -> Figure:
    """Every head of every layer, the last attention with its tokens, and the probabilities."""
    from matplotlib.figure import Figure

    described, groups = describe(run), _groups(run)
    num_layers = max(map(len, groups.values()), default=0)
    heights = [num_layers + 1, 6, 3]
    num_heads = sum(len(run.trace[f"{paths[0]}.weights"]) for paths in groups.values())
    figure = Figure(figsize=(max(14, 0.9 * num_heads), sum(heights)), layout="constrained")
    given = f"{run.text}  \u2192  " if run.source else ""
    figure.suptitle(given + run.translation)
    parts: Any = figure.subfigures(3, 1, height_ratios=heights)
    if groups:  # a model with one fixed vector has no attention
        tiles = parts[0].subplots(1, len(groups), squeeze=False)[0]
        for axes, (title, paths) in zip(tiles, groups.items(), strict=True):
            _draw_heads(axes, run, title, paths, num_layers)
        _draw_words(parts[1].subplots(), run, described, paths[-1])
    _draw_output(parts[2].subplots(), described["output"])
    return figure


def _groups(run: Run) -> dict[str, list[str]]:
    """The attentions of each kind, by its title."""
    groups, crosses = defaultdict[str, list[str]](list), cross_attentions(run.subject.config)
    for path in attentions(run.subject.config):
        groups["cross-attention" if path in crosses else f"{path.split('.')[0]} self-attention"].append(path)
    return groups


def _draw_heads(axes: Axes, run: Run, title: str, paths: Sequence[str], num_layers: int) -> None:
    """All layers (rows) and heads (columns) of one kind of attention, tile beside tile."""
    layers = np.stack([run.trace[path + ".weights"] for path in paths])
    _, num_heads, query_len, key_len = layers.shape
    tiles = np.full((num_layers, num_heads, query_len + 1, key_len + 1), np.nan)
    tiles[: len(layers), :, :query_len, :key_len] = layers
    whole = tiles.transpose(0, 2, 1, 3).reshape(num_layers * (query_len + 1), -1)
    axes.imshow(whole, cmap=_COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    columns = [head * (key_len + 1) + (key_len - 1) / 2 for head in range(num_heads)]
    rows = [layer * (query_len + 1) + (query_len - 1) / 2 for layer in range(len(layers))]
    axes.set_xticks(columns, [str(head + 1) for head in range(num_heads)])
    axes.set_yticks(rows, [str(layer + 1) for layer in range(len(layers))])
    axes.set(xlabel="head", ylabel="layer", title=title)
    axes.spines[:].set_visible(False)


def _draw_words(axes: Axes, run: Run, described: dict[str, Any], path: str) -> None:
    """The last attention: written tokens against the tokens they attend to."""
    weights = run.trace[f"{path}.weights"].mean(axis=0)
    keys = [_label(each) for each in (described["source"] or described["target"])["token_strings"]]
    next_tokens = [_label(each["token_string"]) for each in described["output"]]
    picture = axes.imshow(weights, cmap=_COLOURS, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(keys)), keys, rotation=60, fontsize=8)
    axes.set_yticks(range(len(next_tokens)), next_tokens, fontsize=8)
    axes.set_ylabel("token being written")
    axes.set_title(f"{path}, mean of its heads", fontsize=9)
    axes.figure.colorbar(picture, ax=axes, label="weight")


def _draw_output(axes: Axes, output: Sequence[dict[str, Any]]) -> None:
    """The probability of each written token."""
    axes.bar(range(len(output)), [each["probability"] for each in output], color="#00306f")
    axes.set_xticks(range(len(output)), [_label(each["token_string"]) for each in output], rotation=60, fontsize=8)
    axes.set(ylabel="probability of the written token", ylim=(0, 1))


def _label(token: str) -> str:
    """As on the page: the first token of a word bare, its later tokens after a middle dot."""
    if token.startswith(SPACE_MARK):
        return token.removeprefix(SPACE_MARK) or "\u2423"
    return token if token.startswith("<") and token.endswith(">") else f"\u00b7{token}"
