"""The report: written as Markdown beside its figures, and from that as one HTML file without scripts or links."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable
from functools import partial
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import quote

from markdown_it import MarkdownIt

from regard.compare.figures import draw_alignments, draw_curves, draw_heads, draw_variations, png
from regard.compare.measures import NUM_SYMBOLS
from regard.compare.results import CorpusResults, Curves, Results, best_head, measurement
from regard.config import Position
from regard.files import write_file
from regard.model.position_criteria import judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = "figures"


def write_report(results: Results, output: Path) -> Path:
    """Write the figures and both pages; without matplotlib the pages hold tables alone, and say so."""
    report = Report(results)
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
    page = Template(template).substitute(title=html.escape(results.study.title), body=body)
    path = output / "report.html"
    write_file(path, page.encode())
    return path


def _address(picture: str) -> str:
    return f"{FIGURES}/{quote(picture)}.png"


class Report:
    """The blocks of the Markdown, and the PNGs of the figures; a section without results is left out."""

    def __init__(self, results: Results) -> None:
        self.results, self.study = results, results.study
        self.pictures: dict[str, bytes] = {}
        self._draws = find_spec("matplotlib") is not None
        files = list(results.files.values())
        seeds = ", ".join(str(seed) for seed in sorted({task.seed for task in results.files}))
        commits = ", ".join(dict.fromkeys(each["commit"][:12] or "unknown" for each in files))
        machines = "; ".join(dict.fromkeys(each["hardware"] for each in files))
        versions = ", ".join(f"{name} {version}" for name, version in files[0]["versions"].items())
        self._footer = f"Seeds {seeds}. Commit {commits}. {machines}."
        self.blocks = [
            f"# {self.study.title}",
            f"*{self._footer} {versions}. ± is the standard deviation over the seeds.*",
        ]
        if not self._draws:
            self.blocks.append("No pictures: install matplotlib, and regard compare --only-report draws them.")
        self._models()
        self._lengths()
        self._speed()
        self._recall()
        self._alignments()
        self._variations()
        self._positions()

    def _table(self, head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        names = list(head)
        lines = [names, ["---"] * len(names), *rows]
        self.blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def _picture(self, name: str, caption: str, draw: Callable[[], Figure]) -> None:
        if self._draws:
            self.pictures[name] = png(draw(), self._footer)
            self.blocks.append(f"![{name}]({_address(name)})")
        self.blocks.append(f"*{caption}*")

    def _curves(self, name: str, caption: str, head: str, curves: Curves, **settings: Any) -> None:
        """A figure, and its numbers as a table."""
        digits = settings.pop("digits", 1)
        self._picture(name, caption, partial(draw_curves, curves, **settings))
        columns = next(iter(curves.values()))
        rows = ((m, *(each.text(digits) for each in by.values())) for m, by in curves.items())
        self._table((head, *map(str, columns)), rows)

    def _training(self, corpus: CorpusResults, model: str) -> list[str]:
        """Seeds, parameters, updates, seconds and loss of a model."""
        files = corpus.files[model]
        losses = measurement(e["losses"][-1][2] if e.get("losses") else None for e in files)
        seconds = measurement(each.get("seconds", {}).get("training") for each in files)
        steps = measurement(each.get("steps") for each in files)
        size = f"{files[0]['num_parameters']:,}"
        return [str(len(files)), size, steps.text(0), seconds.text(0), losses.text(3)]

    def _models(self) -> None:
        self.blocks.append("## The models")
        for corpus in self.results.corpora:
            facts = corpus.facts
            self.blocks += [
                f"### {corpus.name}",
                f"{' to '.join(facts['languages'])}: {facts['train']:,} training pairs, with sources of at most "
                f"{facts['longest_train']} words; {facts['valid']:,} validation pairs, {facts['test']:,} test pairs; "
                f"a vocabulary of {facts['vocabulary']:,} tokens, the same for every model.",
            ]
            within, beyond = (len(corpus.parts[part]) for part in ("within", "beyond"))
            head = ("model", "seeds", "parameters", "updates", "seconds", "loss", "BLEU")
            scores = {
                name: [corpus.bleu[name][part].text() for part in ("all", "within", "beyond")] for name in corpus.models
            }
            self._table(
                (*head, f"as in training ({within:,} sentences)", f"longer ({beyond:,})"),
                ((name, *self._training(corpus, name), *scores[name]) for name in corpus.models),
            )

    def _lengths(self) -> None:
        self.blocks.append("## 1. BLEU against sentence length")
        for corpus in self.results.corpora:
            if corpus.models:
                longest = corpus.facts["longest_train"]
                self._curves(
                    f"length-{corpus.name}",
                    f"{corpus.name}: the mean over the seeds; bars are their standard deviation. Training ends at "
                    f"{longest} words.",
                    "BLEU by source words",
                    {name: {group: corpus.bleu[name][group] for group in corpus.groups} for name in corpus.models},
                    title=f"BLEU against sentence length, {corpus.name}",
                    xlabel=f"words of the source (at most {longest} in training)",
                    ylabel="BLEU",
                    ylim=(0, None),
                )

    def _speed(self) -> None:
        config = self.study.speed
        if config is None or not self.results.speeds:
            return
        self.blocks.append("## 2. Training speed against length")
        for device, curves in self.results.speeds.items():
            self._curves(
                f"speed-{device}",
                f"Forward, backward and Adam on batches of {config.batch_tokens:,} tokens, all sentences of one length, "
                f"{config.repeats} measurements; processor time of one core on a CPU, elapsed time on a GPU.",
                f"tokens/s on {device}, by length",
                curves,
                digits=0,
                title=f"training speed, {device}",
                xlabel="tokens of the source and of the target",
                ylabel="training tokens a second",
                xscale="log",
                yscale="log",
            )

    def _recall(self) -> None:
        config, curves = self.study.recall, self.results.recalls
        if config is None or not curves:
            return
        self.blocks.append("## 3. Reference window")
        self._curves(
            "recall",
            f"One of {NUM_SYMBOLS} symbols among meaningless words, in the middle of the text, to be named at the end. "
            f"{config.steps:,} updates of {config.batch_tokens:,} words on distances up to {config.longest_train:,}; "
            f"{config.num_tests} texts at each distance.",
            "accuracy by distance",
            curves,
            digits=2,
            title="reference window",
            xlabel="words since the symbol",
            ylabel="accuracy of recalling it",
            xscale="log",
            ylim=(0, 1.03),
        )

    def _alignments(self) -> None:
        config = self.study.alignment
        drawn = [corpus for corpus in self.results.corpora if corpus.num_drawn]
        if config is None or not drawn:
            return
        self.blocks.append("## 4. Alignments")
        for corpus in drawn:
            caption = (
                f"{corpus.name}: attention to the source tokens (columns) while the reference's tokens (rows) are "
                f"written, seed {self.study.seeds[0]}, each model's best head. Agreement: the share of tokens for "
                "which both attend most to the same one; right: of words with a known counterpart, the share that "
                f"attends most to it. Over {config.num_scored} sentences of at most {config.longest} words."
            )
            self._picture(f"alignment-{corpus.name}", caption, partial(draw_alignments, corpus))
            every = f"{corpus.name}: every head on the first of these sentences."
            self._picture(f"heads-{corpus.name}", every, partial(draw_heads, corpus))
            for model in corpus.alignments:
                self._heads(corpus, model)

    def _heads(self, corpus: CorpusResults, model: str) -> None:
        """The heads of a model over its seeds: agreement with the first model, and how often right."""
        by_seed = corpus.head_scores(model)
        best = [best_head(scores) for scores in by_seed]
        rows = []
        for head, scores in enumerate(zip(*by_seed, strict=True)):
            agreed = measurement(score.agreed for score in scores).text(2)
            right = measurement(score.right for score in scores).text(2)
            note = f"best in {best.count(head)} of {len(best)}" if head in best else ""
            rows.append((scores[0].name, agreed, right, note))
        first = next(iter(corpus.alignments))
        self._table((model, f"agreement with {first}", "right", ""), rows)

    def _variations(self) -> None:
        varied = [corpus for corpus in self.results.corpora if corpus.variations]
        if varied:
            self.blocks.append("## 5. One setting changed at a time (the paper's Table 3 in small)")
        for corpus in varied:
            rows = []
            for name in corpus.variations:
                contender = self.study.contenders[name]
                changes = ", ".join(f"{key}={value}" for key, value in contender.changes.items())
                seeds, size, steps, _, loss = self._training(corpus, name)
                scores = [corpus.bleu[name][part].text() for part in ("within", "beyond")]
                changed = changes if contender.varies else "–"
                rows.append((name, changed, seeds, size, steps, loss, *scores))
            caption = f"{corpus.name}: the model {self.study.varied} with one setting changed."
            self._picture(f"variations-{corpus.name}", caption, partial(draw_variations, corpus))
            longest, num_longer = corpus.facts["longest_train"], len(corpus.parts["beyond"])
            head = ("model", "changed", "seeds", "parameters", "updates", "loss")
            ends = (f"BLEU ≤ {longest} words", f"> {longest} ({num_longer:,} sentences)")
            self._table((*head, *ends), rows)

    def _positions(self) -> None:
        """The four criteria, for positions as wide as the varied model's."""
        if not self.study.varied:
            return
        config = self.study.contenders[self.study.varied].config(vocabulary=4)
        verdicts = {kind: judge(config, kind) for kind in get_args(Position)}
        self.blocks.append("## 6. Four criteria for positions")
        self._table(
            ("positions", *(each.criterion for each in verdicts["sinusoidal"])),
            (
                (kind, *(f"{'yes' if each.holds else 'no'}: {each.measured}" for each in found))
                for kind, found in verdicts.items()
            ),
        )
        self.blocks.append("*Computed, not trained: a learned table is judged as it is before training.*")
