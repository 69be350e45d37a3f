"""The end of a run: average the best weights, measure them with the real search, write the folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from regard import checkpoint
from regard.checkpoint import Manifest, TokenizerFiles
from regard.engine.torch import to_tensors
from regard.evaluate import Score, evaluate
from regard.exchange import onnx
from regard.text.corpus import Corpus, read_lines
from regard.text.tokenizer import Tokenizer
from regard.train.card import model_card
from regard.train.checkpoints import average_best
from regard.train.loop import Trainer
from regard.train.validate import translate_all

if TYPE_CHECKING:
    from regard.train.run import Plan

JOINT = TokenizerFiles()
SEPARATE = TokenizerFiles(source="source.model", target="target.model")


def finish(
    plan: Plan,
    trainer: Trainer,
    tokenizers: tuple[Tokenizer, Tokenizer],
    valid: Corpus,
    output: Path,
    seconds: float,
    say: Callable[[str], None],
) -> list[Score]:
    """Write the finished model into the run's own folder; the scores of validation and test."""
    model = trainer.model.eval()
    best = [step for *_, step in trainer.history.best]
    weights = average_best(output, best)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])

    def measure(name: str, sources: list[str], references: list[str]) -> Score:
        hypotheses = translate_all(model, sources, tokenizers, plan.decode, plan.train.precision)
        score = evaluate(hypotheses, references, name=name)
        say(str(score))
        return score

    scores = [measure("validation", valid.sources, valid.targets)]
    for source, reference in zip(plan.data.test_source, plan.data.test_target, strict=True):
        scores.append(measure(Path(reference).stem, read_lines(source), read_lines(reference)))
    files = JOINT if plan.data.joint else SEPARATE
    manifest = Manifest(
        source_language=plan.data.source_language,
        target_language=plan.data.target_language,
        model=plan.model,
        tokenizer=files,
        decode=plan.decode,
    )
    card = model_card(
        output.name,
        manifest,
        num_parameters=sum(p.numel() for p in model.parameters()),
        training=[
            (
                "training text",
                ", ".join(
                    Path(f).name for f in (*plan.data.source, *plan.data.target, *plan.data.pairs)
                ),
            ),
            ("steps", f"{trainer.step:,} of {plan.train.batch_tokens:,} tokens"),
            ("weights of steps", ", ".join(f"{step:,}" for step in sorted(best))),
            ("hours", f"{seconds / 3600:.2f} on {_device_name(trainer.device)}"),
        ],
        scores=scores,
    )
    checkpoint.save(
        output,
        manifest,
        to_tensors(weights, plan.model),
        {files.source: tokenizers[0].proto, files.target: tokenizers[1].proto},
        card,
    )
    onnx.export(output)
    return scores


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
