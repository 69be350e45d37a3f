"""The verbs score and evaluate: figures for translations."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import DataError, UsageError

if TYPE_CHECKING:
    from regard.api import Model

Pair = tuple[str, str] | None  # a source and its target; None for an empty line


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
    source: Annotated[Path, opt.option("Source sentences.", "FILE")],
    reference: Annotated[Path, opt.option("Their translations.", "FILE")],
    models: Annotated[list[str] | None, Argument(help="Names or folders of models, each scored by itself.")] = None,
    ensemble: Annotated[opt.Texts, opt.option("Score these as one ensemble; repeat it.", "NAME", *opt.MODEL)] = None,
    target: opt.To = None,
    significance: Annotated[
        bool, Option("--significance", help="Test how surely each system differs from the first one.")
    ] = False,
    comet: Annotated[opt.Text, opt.option("COMET too, by Unbabel/wmt22-comet-da or another model.", "MODEL")] = None,
    output: Annotated[opt.File, opt.option("Keep the model's translations here.", "FILE", "--output", "-o")] = None,
    beam: opt.Beam = None,
    mbr: opt.Mbr = "",
    samples: opt.Samples = 32,
    whole: opt.Whole = False,
    plain: opt.Plain = False,
    settings: opt.BeamSettings = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Translate a test set by one model or several, and print BLEU and chrF of each."""
    from regard.api import load
    from regard.cli.lines import Writer, portions
    from regard.data.corpus import read_pairs
    from regard.data.lines import on_one_line
    from regard.translate import evaluate as scores

    systems: dict[str, Any] = {name: name for name in models or ()}
    if ensemble:
        systems[" + ".join(ensemble)] = ensemble
    least, most = 2 if significance else 1, 1 if output else len(systems)
    if not least <= len(systems) <= most:
        wanted = "exactly one for --output" if output else "two or more for --significance" if significance else "named"
        raise UsageError(f"models to evaluate must be {wanted}: got {len(systems)}; name them before the options")
    scores.require_metrics()
    corpus = read_pairs([source], [reference], strict=True)
    opening: dict[str, Any] = {"target_language": target, "engine": engine, "device": device, "threads": threads}
    options = opt.decode_options(settings, beam=beam) | {"split": not whole, "plain": plain}
    options |= {"mbr": mbr, "samples": samples}
    loaded = {name: load(which, **opening) for name, which in systems.items()}  # all, before the first one works
    written: dict[str, list[str]] = {name: [] for name in systems}
    with Writer(output) if output else contextlib.nullcontext() as writer:
        for name, hypotheses in written.items():
            for sources in portions(corpus.sources, "translating"):
                hypotheses += loaded[name].translate(sources, number=len(hypotheses), **options)
        if writer is not None:
            writer.write("".join(f"{on_one_line(text)}\n" for text in hypotheses))
    differences = scores.significance(written, corpus.targets) if significance else {}
    for name, hypotheses in written.items():
        result = scores.evaluate(hypotheses, corpus.targets, name=reference.stem if len(systems) == 1 else name)
        found = scores.comet(comet, corpus.sources, hypotheses, corpus.targets) if comet else None
        others = differences.get(name, [])
        if as_json:
            more: dict[str, Any] = {"comet": found} if comet else {}
            more |= {"against_first": [asdict(each) for each in others]} if others else {}
            typer.echo(json.dumps(result.to_dict() | more))
            continue
        typer.echo(f"{result}  COMET {found:.4f}" if comet else str(result))
        for each in others:
            typer.echo(f"  against {next(iter(written))}: {each}")
