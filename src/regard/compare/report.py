"""The report: written as Markdown beside its figures, and from that as one HTML file without scripts or links."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markdown_it import MarkdownIt

from regard.compare.figures import draw_alignments, draw_curves, png
from regard.compare.measures import best_head
from regard.compare.results import BudgetResults, Curves, Measurement, best_rate, read_results, swept
from regard.compare.study import Study
from regard.compare.texts import ORDINARY
from regard.config import RECURRENT, sized
from regard.files import write_file
from regard.model.position_criteria import judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = "figures"
SIGNIFICANT = 0.05
"""largest probability of chance at which a difference counts"""


def write_report(study: Study, output: Path) -> Path:
    """Write the figures and both pages; without matplotlib the pages hold tables alone, and say so."""
    report = Report(study, read_results(study, output), output)
    (output / FIGURES).mkdir(exist_ok=True)
    for name, content in report.pictures.items():
        write_file(output / FIGURES / f"{name}.png", content)
    text = "\n\n".join(report.blocks) + "\n"
    write_file(output / "report.md", text.encode())
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    for name, content in report.pictures.items():
        data = base64.b64encode(content).decode()
        body = body.replace(f'src="{_address(name)}"', f'src="data:image/png;base64,{data}"')
    template = (resources.files("regard.compare") / "report.html").read_text(encoding="utf-8")
    page = Template(template).substitute(title=html.escape(study.title), body=body)
    path = output / "report.html"
    write_file(path, page.encode())
    return path


def _address(picture: str) -> str:
    return f"{FIGURES}/{quote(picture)}.png"


class Report:
    """The blocks of the Markdown, and the PNGs of the figures; a section without results is left out."""

    def __init__(self, study: Study, results: Sequence[BudgetResults], output: Path) -> None:
        self.study, self.output = study, output
        self.pictures: dict[str, bytes] = {}
        self._draws = find_spec("matplotlib") is not None
        files = [f for runs in results for by_seed in runs.files.values() for f in by_seed.values()]
        commits = ", ".join(dict.fromkeys(each["commit"][:12] or "unknown" for each in files))
        machines = "; ".join(dict.fromkeys(each["hardware"] for each in files))
        versions = ", ".join(f"{name} {version}" for name, version in files[0]["versions"].items())
        self._footer = f"Commit {commits}. {machines}."
        self.blocks = [f"# {study.title}", f"*{self._footer} {versions}. ± is the standard deviation over the seeds.*"]
        if not self._draws:
            self.blocks.append("No pictures: install matplotlib, and regard compare --only-report draws them.")
        for corpus in dict.fromkeys(runs.corpus for runs in results):
            of_corpus = [runs for runs in results if runs.corpus == corpus]
            self._corpus(corpus, of_corpus[0].about)
            for runs in of_corpus:
                self._runs(runs)
            self._rates(corpus)
        for runs in results:
            self._alignments(runs)
        self._positions()

    def _table(self, rows: Sequence[Mapping[str, str]]) -> None:
        """A row for each mapping; a column in which nothing stands is left out."""
        head = [name for name in rows[0] if any(row[name] not in ("", "–") for row in rows)]
        lines = [head, ["---"] * len(head), *([row[name] or "–" for name in head] for row in rows)]
        self.blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def _picture(self, name: str, caption: str, draw: Callable[[], Figure]) -> None:
        if self._draws:
            self.pictures[name] = png(draw(), self._footer)
            self.blocks.append(f"![{name}]({_address(name)})")
        self.blocks.append(f"*{caption}*")

    def _corpus(self, name: str, about: Mapping[str, Any]) -> None:
        parts = "; ".join(f"{len(rows):,} {part}" for part, rows in about["parts"].items() if rows)
        self.blocks += [
            f"## {name}",
            f"{' to '.join(about['languages'])}: {about['train']:,} training pairs, the longest source "
            f"{about['longest']} words; {about['valid']:,} validation pairs; test pairs: {parts}; a vocabulary "
            f"of {about['vocabulary']:,} tokens, the same for every model.",
        ]

    def _runs(self, runs: BudgetResults) -> None:
        """The models of a budget, how they learn, their scores by length, and the variations."""
        metric, axis, label = runs.about["metric"], "step", "updates"
        if runs.is_timed:
            axis, label = "seconds", "seconds of training, each run alone on the machine"
        name = f"{runs.corpus}-{runs.budget}"
        self.blocks.append(f"### {runs.corpus}: {runs.budget} ({_settings(self.study.budgets[runs.budget].train)})")
        self._table([self._row(runs, model) for model in runs.models])
        if learning := runs.learning(axis):
            draw = partial(draw_curves, learning, xlabel=label, ylabel="validation loss", title=f"learning, {name}")
            self._picture(f"learning-{name}", f"Validation loss over {label}; the mean over the seeds.", draw)
        for i, (label, groups) in enumerate(runs.about["groups"].items(), start=1):
            if groups:
                curves: Curves = {
                    model: {group: runs.scores(model, f"{label}/{group}") for group in groups} for model in runs.models
                }
                longest = runs.about["longest"]
                caption = f"{metric} by {label}; the longest source of training has {longest} words."
                draw = partial(draw_curves, curves, xlabel=label, ylabel=metric, title=name, ylim=(0, None))
                self._picture(f"length-{name}-{i}", caption, draw)
                rows = {model: {group: each.text() for group, each in by.items()} for model, by in curves.items()}
                rows = {"sentences": {group: f"{len(each):,}" for group, each in groups.items()}, **rows}
                self._table([{f"{metric} by {label}": name, **row} for name, row in rows.items()])
        if runs.variations:
            self.blocks.append(f"#### One setting of {self.study.reference} changed at a time (the paper's Table 3)")
            self._table([self._row(runs, model) for model in runs.variations])

    def _row(self, runs: BudgetResults, model: str) -> dict[str, str]:
        """What is known of a model: its settings, its size, what it took, how good it became."""
        files, contender = list(runs.files[model].values()), self.study.contenders[model]
        work = Measurement(f["flops"] * f["tokens"] / 1e12 for f in files if "tokens" in f)
        speed = Measurement(f["tokens"] / f["seconds"] for f in files if "tokens" in f)
        losses = Measurement(min(line["loss"] for line in f["losses"]) for f in files if "losses" in f)
        scores = {
            f"{runs.about['metric']}, {p}": runs.scores(model, p) for p, rows in runs.about["parts"].items() if rows
        }
        return {
            "model": model,
            "changed": _settings(contender.changes) if contender.varies else "",
            "seeds": str(len(files)),
            "rate": ", ".join(dict.fromkeys(f"{f['rate']:g}" for f in files if "rate" in f)),
            "parameters": f"{files[0]['num_parameters']:,}",
            "updates": runs.of(model, "steps").text(0),
            # Runs counted in steps may share the machine.
            "seconds": runs.of(model, "seconds").text() if runs.is_timed else "",
            "tokens/s": speed.text(0) if runs.is_timed else "",
            "TFLOP": work.text(2),
            "loss": losses.text(3),
            **{part: each.text() for part, each in scores.items()},
            f"against {self.study.reference}": self._against(runs, model),
        }

    def _against(self, runs: BudgetResults, model: str) -> str:
        """The difference to the reference, and in how many seeds a paired bootstrap finds it."""
        if not (p_values := runs.p_values.get(model)):
            return ""
        difference = runs.scores(model, ORDINARY).mean - runs.scores(self.study.reference, ORDINARY).mean
        found = sum(p < SIGNIFICANT for p in p_values)
        return f"{difference:+.1f}, p < {SIGNIFICANT} in {found} of {len(p_values)}"

    def _rates(self, corpus: str) -> None:
        losses = {name: swept(name, corpus, self.output) for name in self.study.contenders}
        losses = {name: found for name, found in losses.items() if found}
        if not losses:
            return
        rows = []
        for name, found in losses.items():
            best = best_rate(found)
            cells = {
                rate: f"{found[rate]:.3f}" if rate in found else "" for rate in sorted(set().union(*losses.values()))
            }
            cells[best] = f"**{cells[best]}**"
            note = "at the edge" if best in (min(found), max(found)) else ""
            rows.append({"rate": name, **{f"{rate:g}": cell for rate, cell in cells.items()}, "note": note})
        extent = _settings(self.study.sweep)
        self.blocks.append(f"### {corpus}: the lowest validation loss at each learning rate ({extent})")
        self._table(rows)

    def _alignments(self, runs: BudgetResults) -> None:
        found = {
            name: of_seeds
            for name, files in runs.files.items()
            if (of_seeds := [f["alignments"] for f in files.values() if (f.get("alignments") or {}).get("links")])
        }
        if not found:
            return
        name, first = f"{runs.corpus}-{runs.budget}", next(iter(found.values()))[0]
        self.blocks.append(f"## Alignments, {runs.corpus}, {runs.budget}")
        caption = (
            "Attention to the source tokens (columns) while the reference's tokens (rows) are written, seed "
            f"{self.study.seeds[0]}, each model's best head."
        )
        if first["drawn"]:
            of_first = {model: of_seeds[0] for model, of_seeds in found.items()}
            self._picture(f"alignment-{name}", caption, partial(draw_alignments, of_first))
        rows = []
        for model, of_seeds in found.items():
            best = [best_head(each) for each in of_seeds]
            heads = dict.fromkeys(first["heads"][head] for first, (head, *_) in zip(of_seeds, best, strict=True))
            right = Measurement(100 * share for _, share, _ in best).text()
            rows.append({"model": model, "right, %": right, "head": ", ".join(heads)})
        rows.append({"model": "the same place", "right, %": f"{100 * best_head(first)[2]:.1f}", "head": "a guess"})
        self._table(rows)
        links = first["links"][1::2]
        self.blocks.append(
            f"*Of {sum(links):,} target words in {len(links):,} sentences whose counterpart the dictionary knows, the "
            "share that attends most to it; a head is chosen on as many other sentences.*"
        )

    def _positions(self) -> None:
        """The four criteria, where Transformers vary positions, at the width of the reference or of the first one."""
        found = {name: c for name, c in self.study.contenders.items() if c.recipe.architecture not in RECURRENT}
        kinds = [each.changes["position"] for each in found.values() if "position" in each.changes]
        if not kinds:
            return
        recipe = found.get(self.study.reference, next(iter(found.values()))).recipe
        config = sized(recipe.size or "tiny", **recipe.model)
        self.blocks.append("## Four criteria for positions")
        self._table(
            [
                {"positions": kind, **{c: f"{'yes' if holds else 'no'}: {m}" for c, holds, m in judge(config, kind)}}
                for kind in dict.fromkeys([config.position, *kinds])
            ]
        )
        self.blocks.append("*Computed, not trained: a learned table is judged as it is before training.*")


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items()) or "as in [train]"
