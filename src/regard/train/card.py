"""The model card of a finished model, in the Hugging Face form (README.md with YAML in front)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from regard.config import ModelConfig
from regard.folder.manifest import Manifest, Task
from regard.translate.evaluate import AnyScore, Perplexity, Score

TASKS: dict[Task, tuple[str, str]] = {
    "translate": ("translation", "translation"),
    "chat": ("text-generation", "conversation"),
    "search": ("sentence-similarity", "search"),
    "write": ("text-generation", "going on from a text"),
    "fill": ("fill-mask", "filling in blanks"),
}
"""Name on the hub and purpose of each task."""


def model_card(
    name: str,
    manifest: Manifest,
    *,
    num_parameters: int,
    training: Sequence[tuple[str, str]],
    scores: Sequence[AnyScore],
) -> str:
    """`training` is shown as a table of names and values."""
    both = (manifest.source_language, manifest.target_language)
    languages = [code for code in dict.fromkeys(both) if code]
    metrics = [_metrics(score) for score in scores]
    model = manifest.model
    lines = [
        *_front(name, manifest.task, languages, scores),
        "",
        f"# {name}",
        "",
        f"{_kind(model)} for {_purpose(manifest.task, languages)}, trained with regard.",
        "",
        "| | |",
        "|---|---|",
        f"| layers | {' + '.join(map(str, model.num_layers))} |",
        f"| {', '.join(model.widths)} | {', '.join(map(str, model.widths.values()))} |",
        f"| vocabulary | {model.target_vocab_size:,} |",
        f"| parameters | {num_parameters:,} |",
        *(f"| {what} | {value} |" for what, value in training),
        "",
    ]
    if scores:
        names = " | ".join(shown for _, shown, _ in metrics[0])
        counted = "tokens" if isinstance(scores[0], Perplexity) else "sentences"
        lines += [f"| test set | {counted} | {names} |", "|---" * (2 + len(metrics[0])) + "|"]
        for score, row in zip(scores, metrics, strict=True):
            values = " | ".join(f"{value:.2f}" for *_, value in row)
            lines.append(f"| {score.name} | {_count(score):,} | {values} |")
        lines.append("")
        if isinstance(scores[0], Score):
            first = scores[0]
            lines += [f"Signatures: `{first.bleu_signature}`, `{first.chrf_signature}`.", ""]
    return "\n".join(lines)


def _front(name: str, task: Task, languages: list[str], scores: Sequence[AnyScore]) -> list[str]:
    kind, _ = TASKS[task]
    lines = ["---", "library_name: regard", f"pipeline_tag: {kind}", "license: other"]
    if languages:
        lines += ["language:", *(f"- {code}" for code in languages)]
    if scores:
        lines += ["metrics:", *(f"- {type_}" for type_, *_ in _metrics(scores[0]))]
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for score in scores:
        lines += [
            f"  - task: {{type: {kind}}}",
            f"    dataset: {{name: {json.dumps(score.name)}, type: text}}",
            "    metrics:",
        ]
        for type_, shown, value in _metrics(score):
            metric = {"BLEU": "SacreBLEU"}.get(shown, json.dumps(shown) if " " in shown else shown)
            lines.append(f"    - {{type: {type_}, value: {value:.2f}, name: {metric}}}")
    return [*lines, "---"]


def _count(score: AnyScore) -> int:
    if isinstance(score, Perplexity):
        return score.num_tokens
    return score.num_sentences if isinstance(score, Score) else score.num_queries


def _metrics(score: AnyScore) -> list[tuple[str, str, float]]:
    """Type on the hub, name and value of each metric."""
    if isinstance(score, Perplexity):
        metrics = [("perplexity", "perplexity of tokens", score.of_tokens)]
        if score.of_words is not None:
            metrics.append(("perplexity", "perplexity of words", score.of_words))
        return metrics
    if isinstance(score, Score):
        return [("bleu", "BLEU", score.bleu), ("chrf", "chrF", score.chrf)]
    return [
        ("recall_at_1", "recall@1", score.recall_1),
        ("recall_at_10", "recall@10", score.recall_10),
        ("mrr", "MRR", score.mrr),
    ]


def _purpose(task: Task, languages: list[str]) -> str:
    _, purpose = TASKS[task]
    if task == "translate":
        return " to ".join(languages) if len(languages) == 2 else purpose
    return f"{purpose} in {' and '.join(languages)}" if languages else purpose


def _kind(model: ModelConfig) -> str:
    if not model.is_recurrent:
        return f"A Transformer ({model.architecture})"
    looks = "no attention" if model.attention == "none" else f"{model.attention} attention"
    return f"A recurrent encoder-decoder ({model.architecture.upper()} cells, {looks})"
