"""The model card of a finished model, in the Hugging Face form (README.md with YAML in front)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from regard.config import ModelConfig
from regard.folder.manifest import Manifest, Task
from regard.translate.evaluate import AnyScore, Perplexity, Score

PIPELINES = {
    "translate": "translation",
    "chat": "text-generation",
    "search": "sentence-similarity",
    "write": "text-generation",
    "fill": "fill-mask",
}
"""what a task is called on the hub"""
PURPOSES = {
    "translate": "translation",
    "chat": "conversation",
    "search": "search",
    "write": "going on from a text",
    "fill": "filling in blanks",
}


def model_card(
    name: str,
    manifest: Manifest,
    *,
    num_parameters: int,
    training: Sequence[tuple[str, str]],
    scores: Sequence[AnyScore],
    licence: str = "other",
    notes: str = "",
) -> str:
    """`training` is shown as a table of what and how much."""
    both = (manifest.source_language, manifest.target_language)
    languages = [code for code in dict.fromkeys(both) if code]
    kind = PIPELINES[manifest.task]
    front = ["---", "library_name: regard", f"pipeline_tag: {kind}", f"license: {licence}"]
    if languages:
        front += ["language:", *(f"- {code}" for code in languages)]
    figures = [_figures(score) for score in scores]
    if scores:
        front += ["metrics:", *(f"- {figure.kind}" for figure in figures[0])]
        front += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for score, row in zip(scores, figures, strict=True):
        front += [
            f"  - task: {{type: {kind}}}",
            f"    dataset: {{name: {json.dumps(score.name)}, type: text}}",
            "    metrics:",
            *(
                f"    - {{type: {figure.kind}, value: {figure.value:.2f}, name: {figure.name}}}"
                for figure in row
            ),
        ]
    model = manifest.model
    body = [
        f"# {name}",
        "",
        f"{_kind(model)} for {_purpose(manifest.task, languages)}, trained with regard.",
        "",
        "| | |",
        "|---|---|",
        f"| layers | {' + '.join(map(str, model.num_layers))} |",
        f"| {', '.join(model.widths)} | {', '.join(map(str, model.widths.values()))} |",
        f"| pieces | {model.target_vocab_size:,} |",
        f"| parameters | {num_parameters:,} |",
        *(f"| {what} | {value} |" for what, value in training),
        "",
    ]
    if scores:
        names = " | ".join(figure.shown for figure in figures[0])
        what = "pieces" if isinstance(scores[0], Perplexity) else "sentences"
        body += [f"| test set | {what} | {names} |", "|---" * (2 + len(figures[0])) + "|"]
        for score, row in zip(scores, figures, strict=True):
            count = _count(score)
            values = " | ".join(f"{figure.value:.2f}" for figure in row)
            body.append(f"| {score.name} | {count:,} | {values} |")
        body.append("")
        if isinstance(scores[0], Score):
            first = scores[0]
            body += [f"Signatures: `{first.bleu_signature}`, `{first.chrf_signature}`.", ""]
    if notes:
        body += [notes, ""]
    return "\n".join([*front, "---", "", *body])


class Figure(NamedTuple):
    """One number of a score: what kind of metric it is, by which name, and how a table calls it."""

    kind: str
    name: str
    shown: str
    value: float


def _count(score: AnyScore) -> int:
    if isinstance(score, Perplexity):
        return score.num_pieces
    return score.num_sentences if isinstance(score, Score) else score.num_queries


def _figures(score: AnyScore) -> list[Figure]:
    if isinstance(score, Perplexity):
        of_words = [] if score.of_words is None else [("of words", score.of_words)]
        return [
            Figure("perplexity", f'"perplexity {what}"', f"perplexity {what}", value)
            for what, value in [("of pieces", score.of_pieces), *of_words]
        ]
    if isinstance(score, Score):
        return [
            Figure("bleu", "SacreBLEU", "BLEU", score.bleu),
            Figure("chrf", "chrF", "chrF", score.chrf),
        ]
    return [
        Figure("recall_at_1", "recall@1", "recall@1", score.recall_1),
        Figure("recall_at_10", "recall@10", "recall@10", score.recall_10),
        Figure("mrr", "MRR", "MRR", score.mrr),
    ]


def _purpose(task: Task, languages: list[str]) -> str:
    if task == "translate":
        return " to ".join(languages) if len(languages) == 2 else PURPOSES[task]
    return f"{PURPOSES[task]} in {' and '.join(languages)}" if languages else PURPOSES[task]


def _kind(model: ModelConfig) -> str:
    if not model.is_recurrent:
        return f"A Transformer ({model.architecture})"
    looks = "no attention" if model.attention == "none" else f"{model.attention} attention"
    return f"A recurrent encoder-decoder ({model.architecture.upper()} cells, {looks})"
