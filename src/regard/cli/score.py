"""The verbs score and evaluate: figures for translations."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from regard.cli import options as opt
from regard.errors import DataError, UsageError

if TYPE_CHECKING:
    from regard.api import Model

Pair = tuple[str, str] | None
"""a source and its target; None for an empty line"""


def score(
    pair: Annotated[list[str] | None, Argument(metavar="[SOURCE TARGET]", help="A text, its translation.")] = None,
    model: opt.ModelName = None,
    source: opt.From = None,
    target: opt.To = None,
    source_file: Annotated[opt.File, opt.option("Source sentences, one a line.", "FILE", "--source")] = None,
    target_file: Annotated[opt.File, opt.option("Their translations.", "FILE", "--target")] = None,
    output: opt.OutputFile = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Write the log-probability of given translations.

    They are two arguments, two files, or the lines of stdin: source TAB target; an empty one stays empty.
    """
    from regard.api import load
    from regard.cli.lines import Writer

    if pair and len(pair) != 2:
        raise UsageError(f"score takes a source and its translation: got {len(pair)} texts; quote each of the two")
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads}
    loaded = load(model, source_language=source, target_language=target, **opening)
    with Writer(output) as writer:
        for pairs in _pairs(pair, source_file, target_file):
            writer.write("".join(f"{line}\n" for line in _scored(loaded, pairs, as_json)))


def _pairs(pair: list[str] | None, source: Path | None, target: Path | None) -> Iterator[list[Pair]]:
    from regard.cli.lines import STDIN, arriving_lines, portions
    from regard.data.corpus import read_pairs

    if pair:
        yield [(pair[0], pair[1])]
    elif source is not None and target is not None:
        corpus = read_pairs([source], [target], strict=True)
        for numbers in portions(range(len(corpus.sources)), "scoring"):
            yield [(corpus.sources[i], corpus.targets[i]) for i in numbers]
    elif source is not None or target is not None:
        raise UsageError("--source and --target belong together: got one; name both files")
    else:
        number = 0
        for lines in arriving_lines(STDIN):
            pairs: list[Pair] = []
            for line in lines:
                number += 1
                text, tab, rest = line.text.partition("\t")
                if line.text and not tab:
                    yield pairs
                    raise DataError(f"standard input:{number}: a line must be source TAB target: got no tab; add one")
                pairs.append((text, rest.partition("\t")[0]) if tab else None)
            yield pairs


def _scored(model: Model, pairs: Sequence[Pair], as_json: bool) -> Iterator[str]:
    """A line for each pair: its log-probability, or JSON with that of each token."""
    known = [pair for pair in pairs if pair is not None]
    scores = iter(model.score([source for source, _ in known], [target for _, target in known]))
    tokenizer = model.translator.target
    for pair in pairs:
        source, target = pair or ("", "")
        values = next(scores) if pair else []
        if not as_json:
            yield f"{sum(values):.4f}" if pair else ""
            continue
        total = sum(values) if pair else None
        tokens = tokenizer.token_strings(tokenizer.encode(target))
        answer = {"source": source, "target": target, "log_probability": total, "tokens": tokens}
        yield json.dumps(answer | {"token_log_probabilities": values}, ensure_ascii=False)


def evaluate(
    model: Annotated[str, Argument(help="A model's name or folder.")],
    source: Annotated[Path, opt.option("Source sentences.", "FILE")],
    reference: Annotated[Path, opt.option("Their translations.", "FILE")],
    output: Annotated[opt.File, opt.option("Keep the model's translations here.", "FILE", "--output", "-o")] = None,
    beam: opt.Beam = None,
    whole: opt.Whole = False,
    plain: opt.Plain = False,
    settings: opt.BeamSettings = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Translate a test set and print BLEU and chrF."""
    from regard.api import load
    from regard.cli.lines import Writer, portions
    from regard.data.corpus import read_pairs
    from regard.data.lines import on_one_line
    from regard.translate.evaluate import evaluate as evaluate_lines
    from regard.translate.evaluate import require_metrics

    require_metrics()
    corpus = read_pairs([source], [reference], strict=True)
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads}
    loaded = load(model, **opening)
    options = opt.decode_options(settings, beam=beam) | {"split": not whole, "plain": plain}
    hypotheses: list[str] = []
    with Writer(output) if output else contextlib.nullcontext() as writer:
        for sources in portions(corpus.sources, "translating"):
            hypotheses += loaded.translate(sources, number=len(hypotheses), **options)
        result = evaluate_lines(hypotheses, corpus.targets, name=reference.stem)
        if writer is not None:
            writer.write("".join(f"{on_one_line(text)}\n" for text in hypotheses))
    typer.echo(json.dumps(result.to_dict()) if as_json else str(result))
