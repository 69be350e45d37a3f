"""The end of a run: the best weights averaged and scored with the real search, the model folder with its card, result.json."""

import datetime
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

import torch

from regard.config import DecodeConfig
from regard.data.batches import MASK
from regard.data.corpus import Corpus
from regard.data.running_text import RunningText
from regard.engine.torch import to_tensors
from regard.exchange import onnx
from regard.folder import checkpoint
from regard.folder.manifest import Manifest, Task
from regard.model.transformer import EncoderOnly, Model, Translating
from regard.train import corpora
from regard.train.checkpoints import average_best, weights_of
from regard.train.corpora import Say, Text, Tokenizers
from regard.train.loop import Trainer
from regard.train.parallel import Processes, whole_model
from regard.train.plan import RESULT, Plan
from regard.train.snapshots import write_probes
from regard.train.summary import CURVES, write_curves
from regard.train.validation import perplexity_of, retrieval_score, translate_all
from regard.translate.evaluate import AnyScore, evaluate, p_values

TASKS: dict[str, Task] = {"contrastive": "search", "language": "write", "masked": "fill"}
"""Tasks by objective; a model trained to translate may also chat."""
PURPOSES: dict[Task, tuple[str, str]] = {
    "translate": ("translation", "translation"),
    "chat": ("text-generation", "conversation"),
    "search": ("sentence-similarity", "search"),
    "write": ("text-generation", "going on from a text"),
    "fill": ("fill-mask", "filling in blanks"),
}
"""Name on the hub and purpose of each task."""
BY_CHANCE = 0.32  # Probability that two equally good models differ by more than a standard error.
SHARES = (1.0, 0.75, 0.5, 0.25)  # Parts of the way from a given model to the trained one.
ABOUT_TEXT = "text.json"  # What was said when the text was read, and the checksums of its files.
PACKAGES = ("regard", "torch", "numpy", "sentencepiece", "sacrebleu")


def finish(
    plan: Plan, trainer: Trainer, tokenizers: Tokenizers, valid: Text | None, keep: Corpus | None, say: Say
) -> Sequence[AnyScore]:
    """Write the finished model and result.json into the run's folder; return the scores of validation and test.

    valid: None to score nothing and draw no curves.
    """
    output, minutes = trainer.run_folder, trainer.clock.total / 60
    model = whole_model(trainer.model).eval()
    steps, weights, told = _choose(plan, trainer, model, tokenizers, valid, keep)
    _load(model, weights)
    scores = _measure(plan, model, tokenizers, valid, trainer.processes) if valid is not None else []
    if not trainer.processes.is_first:
        return scores
    data, settings, manifest = plan.data, plan.train, manifest_of(plan)
    texts = dict.fromkeys(Path(name).name for name in data.source + data.target + data.pairs + data.text)
    about = json.loads((output / ABOUT_TEXT).read_bytes()) if (output / ABOUT_TEXT).is_file() else {}
    training = {
        "training text": ", ".join(texts),
        "text read": "; ".join(about.get("said", [])),
        "SHA-256": ", ".join(f"{name} `{checksum}`" for name, checksum in about.get("checksums", {}).items()),
        "steps": f"{trainer.step:,} of {settings.accumulate} x {settings.batch_tokens:,} tokens",
        "settings": f"seed {settings.seed}, learning rate {settings.learning_rate:.2e} ({settings.schedule}), "
        f"dropout {settings.dropout}",
        "weights of steps": ", ".join(f"{step:,}" for step in sorted(steps)),
        "time": f"{minutes:.1f} minutes on {hardware(trainer.device)}",
    }
    if plan.init:
        say(told)
        parent = Path(plan.init)
        training["started from"] = f"`{parent.name}`, license: {checkpoint.licence_of(parent)}"
        training["compared with it"] = told
    num_parameters = sum(p.numel() for p in model.parameters())
    files = checkpoint.read_files(output / corpora.TOKENIZERS, manifest)
    card = model_card(output.name, plan, num_parameters, training, scores)
    card += f"\n![loss and BLEU over the run]({CURVES})\n" * (valid is not None and write_curves(output) is not None)
    checkpoint.save(output, manifest, to_tensors(weights, plan.model), files, card, graphs=onnx.export)
    write_probes(output, plan, tokenizers)
    result = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "hardware": hardware(trainer.device),
        "versions": versions(),
        "num_parameters": num_parameters,
        "steps": trainer.step,
        "seconds": {
            "training": round(trainer.clock.seconds, 3),
            "first_steps": round(trainer.clock.first_seconds, 3),
            "total": round(trainer.clock.total, 3),
        },
        "scores": [score.to_dict() for score in scores],
    }
    (output / RESULT).write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return scores


def _choose(
    plan: Plan, trainer: Trainer, model: Model, tokenizers: Tokenizers, valid: Text | None, keep: Corpus | None
) -> tuple[list[int], dict[str, torch.Tensor], str]:
    """Steps and weights of the finished model, and a sentence about the given one, which is step 0.

    Weights that harm the text to keep go back part of the way (WiSE-FT, Wortsman et al. 2022). The given model stays unless
    the gain is more than a standard error, as the best of several validations is partly luck, or the loss was to decide.
    """
    steps, name, tolerance = trainer.history.best_steps, Path(plan.init).name, plan.train.keep_tolerance
    trained = average_best(trainer.run_folder, steps)
    if not plan.init or steps == [0] or not isinstance(valid, Corpus) or isinstance(model, EncoderOnly):
        told = f"kept {name} as it was: no later validation was better"
        return steps, trained, told if steps == [0] else f"{name} was trained, and was best after step {steps[0]:,}"
    given, greedy = average_best(trainer.run_folder, [0]), replace(plan, decode=DecodeConfig(method="greedy"))

    def bleu_to_keep(share: float) -> float:
        """With this share of what was learnt, which is also loaded."""
        _load(model, {each: torch.lerp(given[each], trained[each], share) for each in given})
        texts = _translated(greedy, model, tokenizers, trainer.processes, keep.sources) if keep else []
        return evaluate(texts, keep.targets).bleu if keep else 0.0

    kept = [bleu_to_keep(0.0)]
    texts = {"given": _translated(plan, model, tokenizers, trainer.processes, valid.sources)}
    for share in SHARES:
        kept.append(bleu_to_keep(share))
        if kept[-1] >= kept[0] - tolerance:
            break
    else:
        return [0], given, f"kept {name} as it was: the text to keep always lost more than {tolerance} BLEU"
    texts["trained"] = _translated(plan, model, tokenizers, trainer.processes, valid.sources)
    bleu, chance = (values["BLEU"] for values in p_values(texts, valid.targets, with_chrf=False))
    gain = f"from BLEU {bleu['given']:.2f} to {bleu['trained']:.2f} on {len(valid):,} sentences held out"
    if plan.train.metric != "loss" and (bleu["trained"] <= bleu["given"] or chance["trained"] > BY_CHANCE):
        return [0], given, f"kept {name} as it was: {gain} is no more than chance; more text may help"
    told = f"{name} went {gain}, at {share:.0%} of the way to step {steps[0]:,}"
    told += f"; the text to keep went from {kept[0]:.2f} to {kept[-1]:.2f}" if keep else ""
    return steps, {each: torch.lerp(given[each], trained[each], share) for each in given}, told


def _load(model: Model, weights: Mapping[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, value in weights_of(model).items():
            value.copy_(weights[name])


def _translated(
    plan: Plan, model: Model, tokenizers: Tokenizers, processes: Processes, sources: Sequence[str]
) -> list[str]:
    able, precision = cast(Translating, model), plan.train.precision
    return processes.shared(lambda some: translate_all(able, some, tokenizers, plan.decode, precision), sources)


def _measure(plan: Plan, model: Model, tokenizers: Tokenizers, valid: Text, processes: Processes) -> Sequence[AnyScore]:
    if isinstance(valid, RunningText):
        return [
            perplexity_of(plan, text, tokenizers, processes, name)(model)
            for name, text in [("validation", valid), *corpora.read_test_texts(plan.data)]
        ]
    scores = list[AnyScore]()
    for name, sources, references in (("validation", valid.sources, valid.targets), *corpora.read_test_sets(plan.data)):
        if isinstance(model, EncoderOnly):
            scores.append(retrieval_score(model, tokenizers[0], sources, references, plan.train.precision, name=name))
        else:
            hypotheses = _translated(plan, model, tokenizers, processes, sources)
            scores.append(evaluate(hypotheses, references, name=name))
    return scores


def manifest_of(plan: Plan) -> Manifest:
    data, files = plan.data, plan.tokenizer
    if plan.train.objective == "masked":
        files = replace(files, mask=MASK)
    otherwise: Task = "chat" if data.dialogue else "translate"
    return Manifest(
        task=TASKS.get(plan.train.objective or "translation", otherwise),
        source_language=data.source_language,
        target_language=data.target_language,
        target_languages=tuple(dict.fromkeys(data.tags)),
        model=plan.model,
        tokenizer=files,
        decode=plan.decode,
        generate=plan.generate,
        longest=data.max_length,
    )


def hardware(device: torch.device) -> str:
    cpu, info = f"{os.cpu_count()} CPU cores, {platform.machine()}", Path("/proc/cpuinfo")
    if info.is_file() and (name := re.search(r"^model name\s*: (.+)$", info.read_text(), re.MULTILINE)):
        cpu += f" ({name[1]})"
    return f"{torch.cuda.get_device_name(device)}, {cpu}" if device.type == "cuda" else cpu


def versions() -> dict[str, str]:
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def commit() -> str:
    """Commit of the package's repository, with a + where files differ from it; empty elsewhere."""
    root = Path(__file__).parents[3]
    command = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+"]
    try:
        found = subprocess.run(command, capture_output=True, text=True) if (root / ".git").exists() else None
    except OSError:  # no git
        return ""
    return found.stdout.strip() if found else ""


def model_card(
    name: str, plan: Plan, num_parameters: int, training: Mapping[str, str], scores: Sequence[AnyScore]
) -> str:
    """The card of a model in the Hugging Face form, README.md with YAML in front; `training` is shown as a table."""
    manifest, model, parent = manifest_of(plan), plan.model, Path(plan.init)
    tag, purpose = PURPOSES[manifest.task]
    targets = [code for code in manifest.target_languages or [manifest.target_language] if code]
    languages = [code for code in dict.fromkeys((manifest.source_language, *targets)) if code]
    if manifest.task == "translate" and targets:
        purpose = f"{manifest.source_language or purpose} to {' and '.join(targets)}"
    elif languages:
        purpose = f"{purpose} in {' and '.join(languages)}"
    kind = f"A Transformer ({model.architecture})"
    if model.is_recurrent:
        kind = f"A recurrent encoder-decoder ({model.architecture.upper()} cells, attention: {model.attention})"
    front = ["---", "library_name: regard", f"pipeline_tag: {tag}"]
    licence = f"license: {checkpoint.licence_of(parent) if plan.init else 'other'}"
    front += [licence, *([f"base_model: {parent.name}"] if plan.init else [])]
    if languages:
        front += ["language:", *(f"- {code}" for code in languages)]
    if scores:  # in the form that the hub shows
        front += ["metrics:", *(f"- {metric}" for metric in scores[0].metrics)]
        front += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for score in scores:
        front += [f"  - task: {{type: {tag}}}", f"    dataset: {{name: {json.dumps(score.name)}, type: text}}"]
        metrics = (f"    - {{type: {key}, value: {value:.2f}}}" for key, value in score.metrics.items())
        front += ["    metrics:", *metrics]
    shape = {
        "layers": " + ".join(map(str, model.num_layers)),
        ", ".join(model.widths): ", ".join(map(str, model.widths.values())),
        "vocabulary": f"{model.target_vocab_size:,}",
        "parameters": f"{num_parameters:,}",
    }
    head = f"---\n\n# {name}\n\n{kind} for {purpose}, trained with regard.\n\n| | |\n|---|---|"
    rows = [f"| {what} | {value} |" for what, value in {**shape, **training}.items()]
    return "\n".join([*front, head, *rows, "", *(f"- {score}" for score in scores), ""])
