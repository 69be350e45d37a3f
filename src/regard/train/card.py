"""The model card of a finished model, in the Hugging Face form (README.md with YAML in front)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from regard.checkpoint import Manifest
from regard.config import ModelConfig
from regard.evaluate import Score


def model_card(
    name: str,
    manifest: Manifest,
    *,
    num_parameters: int,
    training: Sequence[tuple[str, str]],
    scores: Sequence[Score],
    licence: str = "other",
    notes: str = "",
) -> str:
    """`training` is shown as a table of what and how much."""
    languages = [code for code in (manifest.source_language, manifest.target_language) if code]
    front = ["---", "library_name: regard", "pipeline_tag: translation", f"license: {licence}"]
    if languages:
        front += ["language:", *(f"- {code}" for code in languages)]
    front += ["metrics:", "- bleu", "- chrf"]
    if scores:
        front += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
        for score in scores:
            front += [
                "  - task: {type: translation}",
                f"    dataset: {{name: {json.dumps(score.name)}, type: text}}",
                "    metrics:",
                f"    - {{type: bleu, value: {score.bleu:.2f}, name: SacreBLEU}}",
                f"    - {{type: chrf, value: {score.chrf:.2f}, name: chrF}}",
            ]
    model = manifest.model
    purpose = "translation" if manifest.task == "translate" else manifest.task
    direction = " to ".join(languages) if len(languages) == 2 else purpose
    body = [
        f"# {name}",
        "",
        f"{_kind(model)} for {direction}, trained with regard.",
        "",
        "| | |",
        "|---|---|",
        f"| layers | {model.num_encoder_layers} + {model.num_decoder_layers} |",
        f"| {', '.join(model.widths)} | {', '.join(map(str, model.widths.values()))} |",
        f"| pieces | {model.target_vocab_size:,} |",
        f"| parameters | {num_parameters:,} |",
        *(f"| {what} | {value} |" for what, value in training),
        "",
    ]
    if scores:
        body += ["| test set | sentences | BLEU | chrF |", "|---|---|---|---|"]
        body += [
            f"| {score.name} | {score.num_sentences:,} | {score.bleu:.2f} | {score.chrf:.2f} |"
            for score in scores
        ]
        body += ["", f"Signatures: `{scores[0].bleu_signature}`, `{scores[0].chrf_signature}`.", ""]
    if notes:
        body += [notes, ""]
    return "\n".join([*front, "---", "", *body])


def _kind(model: ModelConfig) -> str:
    if not model.is_recurrent:
        return f"A Transformer ({model.architecture})"
    looks = "no attention" if model.attention == "none" else f"{model.attention} attention"
    return f"A recurrent encoder-decoder ({model.architecture.upper()} cells, {looks})"
