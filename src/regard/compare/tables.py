"""The tables of a report: what was measured, in rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.compare.gather import Figure as Number
from regard.compare.gather import Findings, OnCorpus, best_head, head_scores

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    head: Row
    rows: Sequence[Row]


def models_table(corpus: OnCorpus) -> Table:
    head = (
        "model",
        "seeds",
        "parameters",
        "updates",
        "seconds",
        "loss",
        "BLEU",
        f"as in training ({corpus.about['test'] - corpus.num_longer:,} sentences)",
        f"longer ({corpus.num_longer:,})",
    )
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
        for name, each in corpus.models.items()
        if not each.contender.varies
    ]
    return Table(head, rows)


def lengths_table(corpus: OnCorpus) -> Table:
    lineage = {n: each for n, each in corpus.models.items() if not each.contender.varies}
    rows = [
        (name, *(_number(each.by_length.get(group)) for group in corpus.groups))
        for name, each in lineage.items()
    ]
    return Table(("BLEU by source words", *corpus.groups), rows)


def speed_tables(findings: Findings) -> list[Table]:
    return [
        Table(
            (f"tokens/s on {device}, by length", *(str(n) for n in next(iter(models.values())))),
            [(name, *(_number(each, 0) for each in by.values())) for name, by in models.items()],
        )
        for device, models in findings.speed.items()
    ]


def recall_table(findings: Findings) -> Table:
    distances = next(iter(findings.recall.values()))
    rows = [
        (name, f"{findings.recall_parameters[name]:,}", *(_number(each, 2) for each in by.values()))
        for name, by in findings.recall.items()
    ]
    return Table(("accuracy by distance", "parameters", *(f"{k:,}" for k in distances)), rows)


def alignment_tables(findings: Findings, corpus: OnCorpus) -> list[Table]:
    """For each model its heads, over its seeds: agreement with the first model, and how often right."""
    config = findings.study.alignment
    names = [n for n in (config.models if config else ()) if n in corpus.models]
    names = [name for name in names if corpus.models[name].looks]
    tables: list[Table] = []
    for name in names:
        first, looks = corpus.models[names[0]].looks, corpus.models[name].looks
        by_seed = [
            head_scores(each, None if name == names[0] else against)
            for each, against in zip(looks, first, strict=False)
        ]
        best = [best_head(scores) for scores in by_seed]
        rows: list[Row] = []
        for head, (label, *_) in enumerate(by_seed[0]):
            columns = (
                [scores[head].agreed for scores in by_seed],
                [scores[head].right for scores in by_seed],
            )
            shown = [
                _number(Number(tuple(v for v in column if v is not None)), 2)
                if None not in column
                else "–"
                for column in columns
            ]
            chosen = sum(head == each for each in best)
            rows.append((label, *shown, f"best in {chosen} of {len(best)}" if chosen else ""))
        head_row = (name, f"agreement with {names[0]}", "right", "")
        tables.append(Table(head_row, rows))
    return tables


def variations_table(findings: Findings, corpus: OnCorpus) -> Table:
    longest = corpus.about["longest_train"]
    head = (
        "model",
        "changed",
        "seeds",
        "parameters",
        "updates",
        "loss",
        f"BLEU ≤ {longest} words",
        f"> {longest} ({corpus.num_longer:,} sentences)",
    )
    rows = [
        (
            name,
            ", ".join(f"{key}={value}" for key, value in each.contender.changes.items())
            if each.contender.varies
            else "–",
            str(each.num_seeds),
            f"{each.num_parameters:,}",
            _number(each.steps, 0),
            _number(each.loss, 3),
            _number(each.within),
            _number(each.beyond),
        )
        for name, each in corpus.models.items()
        if each.contender.varies or name == findings.study.varied
    ]
    return Table(head, rows)


def schemes_table(findings: Findings) -> Table:
    wishes = [each["wish"] for each in next(iter(findings.schemes.values()))]
    rows = [
        (name, *(f"{'yes' if each['holds'] else 'no'}: {each['text']}" for each in verdicts))
        for name, verdicts in findings.schemes.items()
    ]
    return Table(("positions", *wishes), rows)


def _number(number: Number | None, digits: int = 1) -> str:
    return "–" if number is None else number.text(digits)
