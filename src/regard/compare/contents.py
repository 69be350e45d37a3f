"""The content of the report in order: headings, paragraphs, pictures and tables, independent of the output format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from regard.compare.figures import shown_alignments
from regard.compare.results import (
    CorpusResults,
    Measurement,
    Results,
    aligned_models,
    best_head,
    head_scores,
    measurement,
)
from regard.config import Position
from regard.model.position_criteria import judge

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """One of the figures, by the name of its file."""

    name: str
    caption: str


@dataclass(frozen=True, slots=True)
class Table:
    head: Row
    rows: Sequence[Row]


Block = Heading | Paragraph | Picture | Table


def contents(results: Results) -> list[Block]:
    """The whole report."""
    return [
        Heading(results.study.title, 1),
        Paragraph(_provenance(results), is_note=True),
        *_models_part(results),
        *_lengths_part(results),
        *_speed_part(results),
        *_recall_part(results),
        *_alignment_part(results),
        *_variations_part(results),
        *_positions_part(results),
    ]


def _provenance(results: Results) -> str:
    seeds = ", ".join(str(seed) for seed in results.seeds)
    commits = ", ".join(commit[:12] or "unknown" for commit in results.commits)
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return (
        f"Seeds {seeds}; ± is the standard deviation over them. Commit {commits}. "
        f"{'; '.join(results.hardware)}. {versions}. "
        f"{results.seconds / 60:,.1f} minutes of tasks; the times of parallel tasks are added up."
    )


def footer(results: Results) -> str:
    """Parameters, seeds, commit and hardware in one line, under every figure."""
    corpora = results.corpora
    sizes = _range(e.num_parameters for c in corpora for e in c.lineage.values())
    varied = _range(
        e.num_parameters for c in corpora for e in c.models.values() if e.contender.varies
    )
    parameters = f"{sizes} parameters{f' (variations {varied})' if varied else ''}, "
    seeds = ", ".join(str(seed) for seed in results.seeds)
    commit = results.commits[-1][:12] or "unknown"
    hardware = "; ".join(results.hardware)
    return f"{parameters if sizes else ''}seeds {seeds}, commit {commit}, {hardware}."


def _range(counts: Iterable[int]) -> str:
    found = sorted(counts)
    return f"{found[0]:,} to {found[-1]:,}" if found else ""


def _models_part(results: Results) -> list[Block]:
    parts: list[Block] = [Heading("The models")]
    for corpus in results.corpora:
        about = corpus.about
        described = (
            f"{' to '.join(about['languages'])}: {about['train']:,} training pairs, with sources of at most "
            f"{about['longest_train']} words; {about['valid']:,} validation pairs, {about['test']:,} test pairs; "
            f"a vocabulary of {about['vocabulary']:,} tokens, the same for every model."
        )
        parts += [Heading(corpus.name, 3), Paragraph(described), _models_table(corpus)]
    return parts


def _models_table(corpus: CorpusResults) -> Table:
    within = f"as in training ({corpus.about['test'] - corpus.num_longer:,} sentences)"
    longer = f"longer ({corpus.num_longer:,})"
    columns = ("model", "seeds", "parameters", "updates", "seconds", "loss", "BLEU", within, longer)
    rows = [
        (
            name,
            str(each.num_seeds),
            f"{each.num_parameters:,}",
            _number(each.steps, 0),
            _number(each.seconds, 0),
            _number(each.loss, 3),
            *(_number(number) for number in (each.bleu, each.within, each.beyond)),
        )
        for name, each in corpus.lineage.items()
    ]
    return Table(columns, rows)


def _lengths_part(results: Results) -> list[Block]:
    parts: list[Block] = [Heading("1. BLEU against sentence length")]
    for corpus in results.corpora:
        if not corpus.lineage:
            continue
        counts = sorted({each.num_seeds for each in corpus.lineage.values()})
        seeds = (
            f"The mean of {' or '.join(map(str, counts))} seeds; bars are their standard deviation."
        )
        if counts == [1]:
            seeds = "One seed each, so no spread."
        rows = [
            (name, *(_number(each.by_length.get(group)) for group in corpus.groups))
            for name, each in corpus.lineage.items()
        ]
        parts += [
            Picture(f"length-{corpus.name}", f"{corpus.name}. {seeds} {footer(results)}"),
            Table(("BLEU by source words", *corpus.groups), rows),
        ]
    return parts


def _speed_part(results: Results) -> list[Block]:
    config = results.study.speed
    if config is None or not results.speed:
        return []
    caption = (
        f"Forward, backward and Adam on batches of {config.batch_tokens:,} tokens, all sentences of one length, "
        f"{config.repeats} measurements; processor time of one core on a CPU, elapsed time on a GPU. {footer(results)}"
    )
    tables = [
        Table(
            (f"tokens/s on {device}, by length", *(str(n) for n in next(iter(models.values())))),
            [(name, *(_number(each, 0) for each in by.values())) for name, by in models.items()],
        )
        for device, models in results.speed.items()
    ]
    return [Heading("2. Training speed against length"), Picture("speed", caption), *tables]


def _recall_part(results: Results) -> list[Block]:
    config = results.study.recall
    if config is None or not results.recall:
        return []
    caption = (
        "One of 16 symbols among meaningless words, in the middle of the text, to be named at the end. "
        f"{config.steps:,} updates of {config.batch_tokens:,} words on distances up to {config.longest_train:,}; "
        f"{config.num_tests} texts at each distance. {footer(results)}"
    )
    distances = next(iter(results.recall.values()))
    rows = [
        (name, f"{results.recall_parameters[name]:,}", *(_number(each, 2) for each in by.values()))
        for name, by in results.recall.items()
    ]
    table = Table(("accuracy by distance", "parameters", *(f"{k:,}" for k in distances)), rows)
    return [Heading("3. Reference window"), Picture("recall", caption), table]


def _alignment_part(results: Results) -> list[Block]:
    config = results.study.alignment
    if config is None:
        return []
    parts: list[Block] = [Heading("4. Alignments")]
    for corpus in results.corpora:
        if shown_alignments(results, corpus):
            caption = (
                f"{corpus.name}: attention to the source tokens (columns) while the reference's tokens (rows) are "
                f"written, seed {results.study.seeds[0]}, each model's best head. Agreement: the share of tokens for "
                "which both attend most to the same one; right: of words with a known counterpart, the share that "
                f"attends most to it. Over {config.num_scored} sentences of at most {config.longest} words. "
                f"{footer(results)}"
            )
            every = f"{corpus.name}: every head on the first of these sentences. {footer(results)}"
            parts.append(Picture(f"alignment-{corpus.name}", caption))
            parts.append(Picture(f"heads-{corpus.name}", every))
            names = aligned_models(corpus, results.study)
            parts += [_heads_table(corpus, name, names[0]) for name in names]
    return parts


def _heads_table(corpus: CorpusResults, name: str, first: str) -> Table:
    """The heads of a model over its seeds: agreement with the first model, and how often right."""
    by_seed = [
        head_scores(each, None if name == first else reference)
        for each, reference in zip(
            corpus.models[name].alignments, corpus.models[first].alignments, strict=False
        )
    ]
    best = [best_head(scores) for scores in by_seed]
    rows: list[Row] = []
    for head, score in enumerate(by_seed[0]):
        agreed = measurement(scores[head].agreed for scores in by_seed)
        right = measurement(scores[head].right for scores in by_seed)
        count = best.count(head)
        note = f"best in {count} of {len(best)}" if count else ""
        rows.append((score.name, _number(agreed, 2), _number(right, 2), note))
    return Table((name, f"agreement with {first}", "right", ""), rows)


def _variations_part(results: Results) -> list[Block]:
    parts: list[Block] = []
    for corpus in results.corpora:
        if corpus.variations:
            varied = results.study.varied
            caption = (
                f"{corpus.name}: the model {varied} with one setting changed. {footer(results)}"
            )
            parts += [Picture(f"variations-{corpus.name}", caption), _variations_table(corpus)]
    heading = Heading("5. One setting changed at a time (the paper's Table 3 in small)")
    return [heading, *parts] if parts else []


def _variations_table(corpus: CorpusResults) -> Table:
    longest = corpus.about["longest_train"]
    within = f"BLEU ≤ {longest} words"
    beyond = f"> {longest} ({corpus.num_longer:,} sentences)"
    rows = []
    for name, each in corpus.variations.items():
        changes = [f"{key}={value}" for key, value in each.contender.changes.items()]
        numbers = (_number(each.steps, 0), _number(each.loss, 3))
        rows.append(
            (
                name,
                ", ".join(changes) if each.contender.varies else "–",
                str(each.num_seeds),
                f"{each.num_parameters:,}",
                *numbers,
                _number(each.within),
                _number(each.beyond),
            )
        )
    columns = ("model", "changed", "seeds", "parameters", "updates", "loss", within, beyond)
    return Table(columns, rows)


def _positions_part(results: Results) -> list[Block]:
    """The four criteria, for positions as wide as the varied model's."""
    study = results.study
    if not study.varied:
        return []
    config = study.contenders[study.varied].config(vocabulary=4)
    verdicts = {kind: judge(config, kind) for kind in get_args(Position)}
    rows = [
        (kind, *(f"{'yes' if each.holds else 'no'}: {each.measured}" for each in found))
        for kind, found in verdicts.items()
    ]
    columns = ("positions", *(each.criterion for each in verdicts["sinusoidal"]))
    note = (
        "Computed, not trained. Rotary positions are judged by their angles, relative ones by the bucket of the "
        "distance from the first word, a learned table by a newly initialised one of any length; a trained one has no "
        "rows beyond its `max_positions`."
    )
    heading = Heading("6. Four criteria for positions")
    return [heading, Table(columns, rows), Paragraph(note, is_note=True)]


def _number(number: Measurement | None, digits: int = 1) -> str:
    return "–" if number is None else number.text(digits)
