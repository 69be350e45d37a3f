"""The report as one HTML file: no script, nothing to fetch; light or dark as the reader's machine is."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from regard.comparison.figures import can_draw, draw_all, looking
from regard.comparison.gather import Figure as Number
from regard.comparison.gather import Findings, OnCorpus, Trained, best_head, head_scores
from regard.placing import write_file

FIGURES = "figures"
REPORT = "report.html"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fdfdfc; --line: #d4d2cc; --soft: #5c5a55; --good: #00633f; --bad: #9b3400; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --paper: #171716; --line: #45433f; --soft: #aaa69d; --good: #6fd3a8; --bad: #f0a27a; } }
body { color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; } h3 { font-size: 1rem; }
figure { margin: 1rem 0; } figcaption, .note { color: var(--soft); font-size: .85rem; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
td.text { text-align: left; white-space: normal; min-width: 12rem; } .yes { color: var(--good); } .no { color: var(--bad); }
"""

Row = Sequence[str]
Table = tuple[Row, Sequence[Row]]


def write_report(findings: Findings, output: Path) -> Path:
    """Write the figures and the page; without matplotlib the page has its tables alone, and says so."""
    pictures = draw_all(findings) if can_draw() else {}
    (output / FIGURES).mkdir(exist_ok=True)
    for name, content in pictures.items():
        write_file(output / FIGURES / f"{name}.png", content)
    path = output / REPORT
    write_file(path, page(findings, pictures).encode())
    return path


def page(findings: Findings, pictures: dict[str, bytes]) -> str:
    """All of it."""
    parts = [
        f"<h1>{_text(findings.study.title)}</h1>",
        f'<p class="note">{_text(provenance(findings))}</p>',
    ]
    if not pictures:
        parts.append(
            "<p>No pictures: matplotlib is not installed where this was written. "
            "<code>regard compare --only-report</code> where it is draws them.</p>"
        )
    parts += _models_part(findings)
    parts += _lengths_part(findings, pictures)
    parts += _speed_part(findings, pictures)
    parts += _recall_part(findings, pictures)
    parts += _alignment_part(findings, pictures)
    parts += _variations_part(findings, pictures)
    parts += _schemes_part(findings)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(findings.study.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def provenance(findings: Findings) -> str:
    """What every number of the report rests on."""
    seeds = ", ".join(str(seed) for seed in findings.study.seeds)
    commits = ", ".join(commit[:12] or "unknown" for commit in findings.commits)
    versions = ", ".join(f"{name} {version}" for name, version in findings.versions.items())
    return (
        f"Seeds {seeds}; ± is the standard deviation over them. Commit {commits}. "
        f"{'; '.join(findings.hardware)}. {versions}. "
        f"{findings.seconds / 60:,.1f} minutes of tasks, those done at the same time added."
    )


def _models_part(findings: Findings) -> list[str]:
    parts = ["<h2>The models</h2>"]
    for corpus in findings.corpora:
        parts += [f"<h3>{_text(corpus.name)}</h3>", f"<p>{_text(describe(corpus))}</p>"]
        parts.append(_table(*models_table(corpus)))
    return parts


def describe(corpus: OnCorpus) -> str:
    """What the models were trained and scored on."""
    about = corpus.about
    return (
        f"{' to '.join(about['languages'])}: {about['train']:,} pairs to train on, none with a source of more than "
        f"{about['longest_train']} words; {about['valid']:,} to validate, {about['test']:,} to score; "
        f"{about['pieces']:,} pieces, the same for every model."
    )


def models_table(corpus: OnCorpus) -> Table:
    head = (
        "model",
        "seeds",
        "parameters",
        "updates",
        "seconds",
        "loss",
        "BLEU",
        "as in training",
        "longer",
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
    return head, rows


def lengths_table(corpus: OnCorpus) -> Table:
    lineage = {n: each for n, each in corpus.models.items() if not each.contender.varies}
    rows = [
        (name, *(_number(each.by_length.get(group)) for group in corpus.groups))
        for name, each in lineage.items()
    ]
    return ("BLEU by source words", *corpus.groups), rows


def _lengths_part(findings: Findings, pictures: dict[str, bytes]) -> list[str]:
    parts = ["<h2>1. BLEU against sentence length</h2>"]
    for corpus in findings.corpora:
        if any(not each.contender.varies for each in corpus.models.values()):
            caption = f"{corpus.name}. {_seeds(corpus.models.values())}"
            parts += _picture(pictures, f"length-{corpus.name}", caption)
            parts.append(_table(*lengths_table(corpus)))
    return parts


def speed_tables(findings: Findings) -> dict[str, Table]:
    return {
        device: (
            (f"tokens/s on {device}, by length", *(str(n) for n in next(iter(models.values())))),
            [(name, *(_number(each, 0) for each in by.values())) for name, by in models.items()],
        )
        for device, models in findings.speed.items()
    }


def _speed_part(findings: Findings, pictures: dict[str, bytes]) -> list[str]:
    if not findings.speed:
        return []
    config = findings.study.speed
    assert config is not None
    caption = (
        f"Forward, backward and Adam on batches of {config.batch_tokens:,} tokens, all sentences of one length, "
        f"{config.repeats} measurements; on a CPU seconds of work of one core, on a GPU of the clock."
    )
    parts = ["<h2>2. Training speed against length</h2>", *_picture(pictures, "speed", caption)]
    return parts + [_table(*table) for table in speed_tables(findings).values()]


def recall_table(findings: Findings) -> Table:
    distances = next(iter(findings.recall.values()))
    rows = [
        (name, f"{findings.recall_parameters[name]:,}", *(_number(each, 2) for each in by.values()))
        for name, by in findings.recall.items()
    ]
    return ("accuracy by distance", "parameters", *(f"{k:,}" for k in distances)), rows


def _recall_part(findings: Findings, pictures: dict[str, bytes]) -> list[str]:
    if not findings.recall:
        return []
    config = findings.study.recall
    assert config is not None
    caption = (
        f"One of 16 symbols among words that mean nothing, as far from either end, named at the end. "
        f"{config.steps:,} updates of {config.batch_tokens:,} words on distances up to {config.longest_train:,}; "
        f"{config.num_tests} texts at each distance; seeds {', '.join(map(str, findings.study.seeds))}."
    )
    parts = ["<h2>3. Reference window</h2>", *_picture(pictures, "recall", caption)]
    return [*parts, _table(*recall_table(findings))]


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
        tables.append((head_row, rows))
    return tables


def _alignment_part(findings: Findings, pictures: dict[str, bytes]) -> list[str]:
    config = findings.study.alignment
    if config is None:
        return []
    parts = ["<h2>4. Alignments</h2>"]
    for corpus in findings.corpora:
        if looking(findings, corpus):
            caption = (
                f"{corpus.name}: what is looked at (columns) while the reference's pieces (rows) are written, seed "
                f"{findings.study.seeds[0]}, each model's best head. Agreement: the share of pieces for which both look "
                "most at the same one; right: of words with a known counterpart, those that look most at it. Over "
                f"{config.num_scored} sentences of at most {config.longest} words."
            )
            parts += _picture(pictures, f"alignment-{corpus.name}", caption)
            parts += [_table(*table) for table in alignment_tables(findings, corpus)]
    return parts


def variations_table(findings: Findings, corpus: OnCorpus) -> Table:
    longest = corpus.about["longest_train"]
    head = (
        "model",
        "changed",
        "seeds",
        "parameters",
        "loss",
        f"BLEU ≤ {longest} words",
        f"> {longest}",
    )
    rows = [
        (
            name,
            ", ".join(f"{key}={value}" for key, value in each.contender.changes.items())
            if each.contender.varies
            else "–",
            str(each.num_seeds),
            f"{each.num_parameters:,}",
            _number(each.loss, 3),
            _number(each.within),
            _number(each.beyond),
        )
        for name, each in corpus.models.items()
        if each.contender.varies or name == findings.study.varied
    ]
    return head, rows


def _variations_part(findings: Findings, pictures: dict[str, bytes]) -> list[str]:
    parts: list[str] = []
    for corpus in findings.corpora:
        if any(each.contender.varies for each in corpus.models.values()):
            caption = f"{corpus.name}: the model {findings.study.varied} with one thing changed."
            parts += _picture(pictures, f"variations-{corpus.name}", caption)
            parts.append(_table(*variations_table(findings, corpus)))
    heading = "<h2>5. One thing changed at a time (the paper's Table 3 in small)</h2>"
    return [heading, *parts] if parts else []


def schemes_table(findings: Findings) -> Table:
    wishes = [each["wish"] for each in next(iter(findings.schemes.values()))]
    rows = [
        (name, *(f"{'yes' if each['holds'] else 'no'}: {each['text']}" for each in verdicts))
        for name, verdicts in findings.schemes.items()
    ]
    return ("positions", *wishes), rows


def _schemes_part(findings: Findings) -> list[str]:
    if not findings.schemes:
        return []
    head, rows = schemes_table(findings)
    return [
        "<h2>6. Four wishes for positions</h2>",
        _table(head, rows, prose=True),
        '<p class="note">Computed, not trained. Rotary positions are judged by the angles they turn by, relative ones by '
        "the bucket of the distance from the first word, a learned table by a freshly drawn one.</p>",
    ]


def _picture(pictures: dict[str, bytes], name: str, caption: str) -> list[str]:
    shown = f"<figcaption>{_text(caption)}</figcaption>"
    if name not in pictures:
        return [f"<figure>{shown}</figure>"]
    data = base64.b64encode(pictures[name]).decode()
    return [
        f'<figure><img alt="{_text(caption)}" src="data:image/png;base64,{data}">{shown}</figure>'
    ]


def _table(head: Row, rows: Iterable[Row], *, prose: bool = False) -> str:
    def cell(value: str, first: bool) -> str:
        if not prose or first:
            return f"<td>{_text(value)}</td>"
        kind = "yes" if value.startswith("yes") else "no"
        return f'<td class="text {kind}">{_text(value)}</td>'

    body = "".join(
        f"<tr>{''.join(cell(value, i == 0) for i, value in enumerate(row))}</tr>" for row in rows
    )
    names = "".join(f"<th>{_text(name)}</th>" for name in head)
    return f'<div class="wide"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'


def _seeds(models: Iterable[Trained]) -> str:
    counts = sorted({each.num_seeds for each in models if not each.contender.varies})
    return f"The mean of {' or '.join(map(str, counts))} seeds; bars are their standard deviation."


def _number(number: Number | None, digits: int = 1) -> str:
    return "–" if number is None else number.text(digits)


def _text(value: Any) -> str:
    return html.escape(str(value))
