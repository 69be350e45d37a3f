"""The content of the report in order: headings, paragraphs, pictures and tables, independent of the output format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

from regard.compare.figures import shown_alignments
from regard.compare.results import (
    CorpusResults,
    Results,
    aligned_models,
    best_head,
    head_scores,
    measurement,
)
from regard.config import Position
from regard.model.position_criteria import judge


class Paragraph(NamedTuple):
    """A heading, a paragraph, or a note in small letters."""

    text: str
    kind: str = "p"
    """h1, h2, h3, p or note"""


class Picture(NamedTuple):
    """One of the figures, by the name of its file."""

    name: str
    caption: str


class Table(NamedTuple):
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


Part = Paragraph | Picture | Table


def contents(results: Results) -> list[Part]:
    """The whole report; a section without results is left out."""
    parts: list[Part] = [
        Paragraph(results.study.title, "h1"),
        Paragraph(_provenance(results), "note"),
    ]
    for heading, section in (
        ("The models", _models_part(results)),
        ("1. BLEU against sentence length", _lengths_part(results)),
        ("2. Training speed against length", _speed_part(results)),
        ("3. Reference window", _recall_part(results)),
        ("4. Alignments", _alignment_part(results)),
        (
            "5. One setting changed at a time (the paper's Table 3 in small)",
            _variations_part(results),
        ),
        ("6. Four criteria for positions", _positions_part(results)),
    ):
        if section:
            parts += [Paragraph(heading, "h2"), *section]
    return parts


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
    models = [each for corpus in results.corpora for each in corpus.models.values()]
    sizes = _range(each.num_parameters for each in models if not each.contender.varies)
    varied = _range(each.num_parameters for each in models if each.contender.varies)
    parameters = f"{sizes} parameters{f' (variations {varied})' if varied else ''}, "
    seeds = ", ".join(str(seed) for seed in results.seeds)
    commit = results.commits[-1][:12] or "unknown"
    hardware = "; ".join(results.hardware)
    return f"{parameters if sizes else ''}seeds {seeds}, commit {commit}, {hardware}."


def _range(counts: Iterable[int]) -> str:
    found = sorted(counts)
    return f"{found[0]:,} to {found[-1]:,}" if found else ""


def _models_part(results: Results) -> list[Part]:
    parts: list[Part] = []
    for corpus in results.corpora:
        about = corpus.about
        described = (
            f"{' to '.join(about['languages'])}: {about['train']:,} training pairs, with sources of at most "
            f"{about['longest_train']} words; {about['valid']:,} validation pairs, {about['test']:,} test pairs; "
            f"a vocabulary of {about['vocabulary']:,} tokens, the same for every model."
        )
        within = f"as in training ({about['test'] - corpus.num_longer:,} sentences)"
        head = ("model", "seeds", "parameters", "updates", "seconds", "loss", "BLEU", within)
        rows = [
            (
                *(name, str(each.num_seeds), f"{each.num_parameters:,}"),
                *(each.steps.text(0), each.seconds.text(0), each.loss.text(3)),
                *(number.text() for number in (each.bleu, each.within, each.beyond)),
            )
            for name, each in corpus.lineage.items()
        ]
        table = Table((*head, f"longer ({corpus.num_longer:,})"), rows)
        parts += [Paragraph(corpus.name, "h3"), Paragraph(described), table]
    return parts


def _lengths_part(results: Results) -> list[Part]:
    parts: list[Part] = []
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
            (name, *(number.text() for number in each.by_length.values()))
            for name, each in corpus.lineage.items()
        ]
        parts += [
            Picture(f"length-{corpus.name}", f"{corpus.name}. {seeds} {footer(results)}"),
            Table(("BLEU by source words", *corpus.groups), rows),
        ]
    return parts


def _speed_part(results: Results) -> list[Part]:
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
            [(name, *(each.text(0) for each in by.values())) for name, by in models.items()],
        )
        for device, models in results.speed.items()
    ]
    return [Picture("speed", caption), *tables]


def _recall_part(results: Results) -> list[Part]:
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
        (name, f"{results.recall_parameters[name]:,}", *(each.text(2) for each in by.values()))
        for name, by in results.recall.items()
    ]
    table = Table(("accuracy by distance", "parameters", *(f"{k:,}" for k in distances)), rows)
    return [Picture("recall", caption), table]


def _alignment_part(results: Results) -> list[Part]:
    config = results.study.alignment
    if config is None:
        return []
    parts: list[Part] = []
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
            names = aligned_models(corpus, results.study)
            parts += [
                Picture(f"alignment-{corpus.name}", caption),
                Picture(f"heads-{corpus.name}", every),
                *(_heads_table(corpus, name, names[0]) for name in names),
            ]
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
    rows = []
    for head, scores in enumerate(zip(*by_seed, strict=True)):
        agreed = measurement(score.agreed for score in scores).text(2)
        right = measurement(score.right for score in scores).text(2)
        note = f"best in {best.count(head)} of {len(best)}" if head in best else ""
        rows.append((scores[0].name, agreed, right, note))
    return Table((name, f"agreement with {first}", "right", ""), rows)


def _variations_part(results: Results) -> list[Part]:
    parts: list[Part] = []
    for corpus in results.corpora:
        if not corpus.variations:
            continue
        varied, longest = results.study.varied, corpus.about["longest_train"]
        caption = f"{corpus.name}: the model {varied} with one setting changed. {footer(results)}"
        beyond = f"> {longest} ({corpus.num_longer:,} sentences)"
        head = ("model", "changed", "seeds", "parameters", "updates", "loss")
        rows = []
        for name, each in corpus.variations.items():
            changes = [f"{key}={value}" for key, value in each.contender.changes.items()]
            changed = ", ".join(changes) if each.contender.varies else "–"
            sizes = (str(each.num_seeds), f"{each.num_parameters:,}", each.steps.text(0))
            scores = (each.loss.text(3), each.within.text(), each.beyond.text())
            rows.append((name, changed, *sizes, *scores))
        table = Table((*head, f"BLEU ≤ {longest} words", beyond), rows)
        parts += [Picture(f"variations-{corpus.name}", caption), table]
    return parts


def _positions_part(results: Results) -> list[Part]:
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
    head = ("positions", *(each.criterion for each in verdicts["sinusoidal"]))
    note = (
        "Computed, not trained. Rotary positions are judged by their angles, relative ones by the bucket of the "
        "distance from the first word, a learned table by a newly initialised one of any length; a trained one has no "
        "rows beyond its `max_positions`."
    )
    return [Table(head, rows), Paragraph(note, "note")]
