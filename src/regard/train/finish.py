"""The end of a run: average the best weights, measure them with the real search, write the folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch

from regard.data.corpus import Corpus
from regard.data.masking import MASK
from regard.data.prose import Prose
from regard.engine.torch import to_tensors
from regard.exchange import onnx
from regard.folder import checkpoint
from regard.folder.manifest import Manifest, Task
from regard.model.transformer import EncoderOnly, Model, Translating
from regard.text.tokenizer import Tokenizer
from regard.train.card import model_card
from regard.train.checkpoints import average_best, weights_of
from regard.train.loop import Trainer
from regard.train.parallel import Processes, whole_model
from regard.train.prepare import JOINT, SEPARATE, read_test_sets
from regard.train.prose import measure_texts
from regard.train.request import Plan
from regard.train.retrieval import find_own
from regard.train.validate import translate_all
from regard.translate.evaluate import AnyScore, evaluate

TASKS: dict[str, Task] = {"contrastive": "search", "language": "write", "masked": "fill"}
"""what a model does that has learnt something else than to translate"""


def task_of(plan: Plan) -> Task:
    otherwise: Task = "chat" if plan.data.dialogue else "translate"
    return TASKS.get(plan.train.objective or "translation", otherwise)


def finish(
    plan: Plan,
    trainer: Trainer,
    tokenizers: tuple[Tokenizer, Tokenizer],
    valid: Corpus | Prose,
    output: Path,
    seconds: float,
) -> Sequence[AnyScore]:
    """Write the finished model into the run's own folder; the scores of validation and test."""
    model = whole_model(trainer.model).eval()
    best = trainer.history.best_steps
    weights = average_best(output, best)
    with torch.no_grad():
        for name, value in weights_of(model).items():
            value.copy_(weights[name])
    scores = _measure(plan, model, tokenizers, valid, trainer.processes)
    if not trainer.processes.is_first:
        return scores
    files = JOINT if plan.data.joint else SEPARATE
    if plan.train.objective == "masked":
        files = replace(files, mask=MASK)
    manifest = Manifest(
        task=task_of(plan),
        source_language=plan.data.source_language,
        target_language=plan.data.target_language,
        model=plan.model,
        tokenizer=files,
        decode=plan.decode,
        generate=plan.generate,
        longest=plan.data.max_length,
    )
    card = model_card(
        output.name,
        manifest,
        num_parameters=sum(p.numel() for p in model.parameters()),
        training=[
            (
                "training text",
                _names(*plan.data.source, *plan.data.target, *plan.data.pairs, *plan.data.text),
            ),
            ("steps", f"{trainer.step:,} of {plan.train.batch_tokens:,} tokens"),
            ("weights of steps", ", ".join(f"{step:,}" for step in sorted(best))),
            ("time", f"{_duration(seconds)} on {_device_name(trainer.device)}"),
        ],
        scores=scores,
    )
    checkpoint.save(
        output,
        manifest,
        to_tensors(weights, plan.model),
        {files.source: tokenizers[0].proto, files.target: tokenizers[1].proto},
        card,
        graphs=onnx.export,
    )
    return scores


def _measure(
    plan: Plan,
    model: Model,
    tokenizers: tuple[Tokenizer, Tokenizer],
    valid: Corpus | Prose,
    processes: Processes,
) -> Sequence[AnyScore]:
    """Of the validation text, and of each test set."""

    def measure(name: str, sources: Sequence[str], references: Sequence[str]) -> AnyScore:
        if isinstance(model, EncoderOnly):
            return find_own(
                model, tokenizers[0], sources, references, plan.train.precision, name=name
            )
        hypotheses = processes.shared(
            lambda some: translate_all(
                cast(Translating, model), some, tokenizers, plan.decode, plan.train.precision
            ),
            sources,
        )
        return evaluate(hypotheses, references, name=name)

    if isinstance(valid, Prose):
        return measure_texts(plan, model, valid, tokenizers, processes)
    found = [measure("validation", valid.sources, valid.targets)]
    return found + [measure(*test_set) for test_set in read_test_sets(plan.data)]


def _names(*files: str) -> str:
    """Each file once, and how often it was named."""
    counts = Counter(Path(file).name for file in files)
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())


def _duration(seconds: float) -> str:
    """As coarse as a reader would say it.

    >>> _duration(42.3), _duration(90.0), _duration(9000.0)
    ('42 seconds', '1.5 minutes', '2.5 hours')
    """
    if seconds < 60:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
