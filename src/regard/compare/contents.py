"""What a report says: headings, paragraphs, pictures and tables, in order, whatever they are written as."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from regard.compare.figures import looking
from regard.compare.gather import Findings, OnCorpus, Trained
from regard.compare.tables import (
    Table,
    alignment_tables,
    lengths_table,
    models_table,
    recall_table,
    schemes_table,
    speed_tables,
    variations_table,
)


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


Block = Heading | Paragraph | Picture | Table


def contents(findings: Findings) -> list[Block]:
    """The whole report."""
    return [
        Heading(findings.study.title, 1),
        Paragraph(provenance(findings), is_note=True),
        *_models_part(findings),
        *_lengths_part(findings),
        *_speed_part(findings),
        *_recall_part(findings),
        *_alignment_part(findings),
        *_variations_part(findings),
        *_schemes_part(findings),
    ]


def provenance(findings: Findings) -> str:
    """What every number of the report rests on."""
    seeds = ", ".join(str(seed) for seed in findings.seeds)
    commits = ", ".join(commit[:12] or "unknown" for commit in findings.commits)
    versions = ", ".join(f"{name} {version}" for name, version in findings.versions.items())
    return (
        f"Seeds {seeds}; ± is the standard deviation over them. Commit {commits}. "
        f"{'; '.join(findings.hardware)}. {versions}. "
        f"{findings.seconds / 60:,.1f} minutes of tasks, those done at the same time added."
    )


def rests_on(findings: Findings) -> str:
    """The same in one line, under every figure."""
    trained = [each for corpus in findings.corpora for each in corpus.models.values()]
    sizes = _range(each.num_parameters for each in trained if not each.contender.varies)
    varied = _range(each.num_parameters for each in trained if each.contender.varies)
    parameters = f"{sizes} parameters{f' (variations {varied})' if varied else ''}, "
    seeds = ", ".join(str(seed) for seed in findings.seeds)
    commit = findings.commits[-1][:12] or "unknown"
    hardware = "; ".join(findings.hardware)
    return f"{parameters if sizes else ''}seeds {seeds}, commit {commit}, {hardware}."


def _range(counts: Iterable[int]) -> str:
    found = sorted(counts)
    return f"{found[0]:,} to {found[-1]:,}" if found else ""


def _models_part(findings: Findings) -> list[Block]:
    parts: list[Block] = [Heading("The models")]
    for corpus in findings.corpora:
        parts += [Heading(corpus.name, 3), Paragraph(describe(corpus)), models_table(corpus)]
    return parts


def describe(corpus: OnCorpus) -> str:
    """What the models were trained and scored on."""
    about = corpus.about
    return (
        f"{' to '.join(about['languages'])}: {about['train']:,} pairs to train on, none with a source of more than "
        f"{about['longest_train']} words; {about['valid']:,} to validate, {about['test']:,} to score; "
        f"{about['pieces']:,} pieces, the same for every model."
    )


def _lengths_part(findings: Findings) -> list[Block]:
    parts: list[Block] = [Heading("1. BLEU against sentence length")]
    for corpus in findings.corpora:
        if any(not each.contender.varies for each in corpus.models.values()):
            caption = f"{corpus.name}. {_seeds(corpus.models.values())} {rests_on(findings)}"
            parts += [Picture(f"length-{corpus.name}", caption), lengths_table(corpus)]
    return parts


def _speed_part(findings: Findings) -> list[Block]:
    if not findings.speed:
        return []
    config = findings.study.speed
    assert config is not None
    caption = (
        f"Forward, backward and Adam on batches of {config.batch_tokens:,} tokens, all sentences of one length, "
        f"{config.repeats} measurements; on a CPU seconds of work of one core, on a GPU of the clock. {rests_on(findings)}"
    )
    heading = Heading("2. Training speed against length")
    return [heading, Picture("speed", caption), *speed_tables(findings)]


def _recall_part(findings: Findings) -> list[Block]:
    if not findings.recall:
        return []
    config = findings.study.recall
    assert config is not None
    caption = (
        f"One of 16 symbols among words that mean nothing, as far from either end, named at the end. "
        f"{config.steps:,} updates of {config.batch_tokens:,} words on distances up to {config.longest_train:,}; "
        f"{config.num_tests} texts at each distance. {rests_on(findings)}"
    )
    return [Heading("3. Reference window"), Picture("recall", caption), recall_table(findings)]


def _alignment_part(findings: Findings) -> list[Block]:
    config = findings.study.alignment
    if config is None:
        return []
    parts: list[Block] = [Heading("4. Alignments")]
    for corpus in findings.corpora:
        if looking(findings, corpus):
            caption = (
                f"{corpus.name}: what is looked at (columns) while the reference's pieces (rows) are written, seed "
                f"{findings.study.seeds[0]}, each model's best head. Agreement: the share of pieces for which both look "
                "most at the same one; right: of words with a known counterpart, those that look most at it. Over "
                f"{config.num_scored} sentences of at most {config.longest} words. {rests_on(findings)}"
            )
            every = (
                f"{corpus.name}: every head on the first of these sentences. {rests_on(findings)}"
            )
            parts.append(Picture(f"alignment-{corpus.name}", caption))
            parts.append(Picture(f"heads-{corpus.name}", every))
            parts += alignment_tables(findings, corpus)
    return parts


def _variations_part(findings: Findings) -> list[Block]:
    parts: list[Block] = []
    for corpus in findings.corpora:
        if any(each.contender.varies for each in corpus.models.values()):
            caption = (
                f"{corpus.name}: the model {findings.study.varied} with one thing changed. "
                f"{rests_on(findings)}"
            )
            parts += [
                Picture(f"variations-{corpus.name}", caption),
                variations_table(findings, corpus),
            ]
    heading = Heading("5. One thing changed at a time (the paper's Table 3 in small)")
    return [heading, *parts] if parts else []


def _schemes_part(findings: Findings) -> list[Block]:
    if not findings.schemes:
        return []
    note = (
        "Computed, not trained. Rotary positions are judged by the angles they turn by, relative ones by the bucket of "
        "the distance from the first word, a learned table by a freshly drawn one, as long as is asked for: a trained "
        "one has no rows beyond its `max_positions`."
    )
    heading = Heading("6. Four wishes for positions")
    return [heading, schemes_table(findings), Paragraph(note, is_note=True)]


def _seeds(models: Iterable[Trained]) -> str:
    counts = sorted({each.num_seeds for each in models if not each.contender.varies})
    if counts == [1]:
        return "One seed each, so no spread."
    return f"The mean of {' or '.join(map(str, counts))} seeds; bars are their standard deviation."
