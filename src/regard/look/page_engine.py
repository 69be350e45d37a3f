"""What the page's own engine needs: its script, the rules of the pipeline, and models, carried or fetched."""

import base64
import functools
import json
import math
from collections.abc import Callable
from typing import Any

from regard.config import to_dict
from regard.folder.checkpoint import WEIGHTS
from regard.look.document import Document, describe
from regard.look.rules import rules
from regard.look.run import Run
from regard.look.session import Session
from regard.look.single_file import as_json, link, read_page
from regard.look.subject import Subject
from regard.train.snapshots import list_snapshots, weights_of

MAX_MODEL_BYTES = 300_000_000  # largest weights that a file carries
MAX_SNAPSHOT_BYTES = 20_000_000  # the same of all snapshots of its training together
_KNOWN_PARTS = frozenset(
    "BPE WordPiece Sequence NFC NFD NFKC NFKD Lowercase StripAccents BertNormalizer Prepend Replace ByteLevel Split "
    "Digits BertPreTokenizer Metaspace ByteFallback Fuse Strip".split()
)
"""kinds of parts of a tokenizer.json that the page's engine has"""
_OF_A_MODEL = ("version", "model", "parameters", "criteria", "code")
"""parts of a document that are the same for every run of a model"""

Place = Callable[[str], dict[str, str]]  # from the name of a model's file to where the page finds it


def hindrance(subject: Subject) -> str:
    """Why the page's engine cannot run a model, as a sentence; empty where it can."""
    folder, manifest = subject.folder, subject.manifest
    if folder is None:
        return "This model was made in a program and is in no folder."
    if (size := (folder / WEIGHTS).stat().st_size) > MAX_MODEL_BYTES:
        return f"The weights are {size // 10**6} MB; a file carries at most {MAX_MODEL_BYTES // 10**6}."
    if "page" not in manifest.model.position_traits:
        return f"The page's engine has no position={manifest.model.position}."
    if manifest.tokenizer.kind == "tokenizers":
        described = json.loads((folder / manifest.tokenizer.source).read_bytes())
        if unknown := sorted(_parts(described) - _KNOWN_PARTS):
            return f"The page's engine has no {' and '.join(unknown)}, which this tokenizer.json needs."
    return ""


def _parts(described: Document) -> set[str]:
    """The kinds of the parts of a tokenizer.json, and what else is rare in one."""
    of_model = ("dropout", "continuing_subword_prefix", "end_of_word_suffix")
    model = described["model"]
    rare = {name for name in of_model if model.get(name) and model.get("type", "BPE") == "BPE"}
    added = [each for each in described.get("added_tokens", ()) if not each["special"]]
    rare |= {name for name in ("single_word", "lstrip", "rstrip") if any(each[name] for each in added)}
    stages = [described.get(name) for name in ("normalizer", "pre_tokenizer", "decoder")]
    return rare | {model.get("type", "BPE")} | _kinds(stages)


def _kinds(part: Any) -> set[str]:
    """The kinds of a stage and of all in it, and the ways to split that the page's engine lacks."""
    if isinstance(part, list):
        return set().union(*map(_kinds, part))
    if not isinstance(part, dict):
        return set()
    own = {part["type"]} if "type" in part else set()
    own |= {part.get("behavior", "Isolated")} - {"Isolated", "Removed"}
    return own.union(*map(_kinds, part.values()))


def script() -> str:
    """The engine as one script."""
    return link("engine/worker.js", read_page)


def setup(session: Session | None, models: list[Document]) -> Document:
    """What the engine begins with: the rules, the models, and the session whose page this is."""
    first = session and {
        "text": session.original.text,
        "sentence": session.original.sentence,
        "decode": [to_dict(session.decode) for _ in models],
        "plain": session.options.plain,
        "split": session.options.split,
    }
    return {"rules": rules(), "models": models, "first": first}


def model(run: Run, place: Place) -> Document:
    """A model as the engine reads it; `place` tells where its files are."""
    subject = run.subject
    files, described = subject.manifest.tokenizer, describe(run)
    named = [files.vocabulary, files.target_vocabulary or files.vocabulary] if files.vocabulary else []
    return {
        "name": subject.name,
        "manifest": to_dict(subject.manifest),
        "template": {name: described[name] for name in _OF_A_MODEL},
        "files": {
            "weights": place(WEIGHTS),
            "source": place(files.source),
            "target": place(files.target),
            "vocabularies": [place(name) for name in named],
        },
    }


def carried_steps(session: Session) -> list[int]:
    """The snapshots of a finished model's run that a page has room for, evenly chosen."""
    training, own = session.training, session.original.subject
    if training is None or own.step is not None:
        return []
    steps = list_snapshots(training.folder)
    size = sum(each.numel() for each in own.network.parameters())
    return steps[:: max(1, math.ceil(len(steps) * size / MAX_SNAPSHOT_BYTES))]


def contents(session: Session) -> dict[str, str]:
    """The elements of a page that carries its models, by id."""
    found: dict[str, str] = {}

    def carried(run: Run, name: str) -> dict[str, str]:
        assert run.subject.folder is not None
        found[id := f"model-{run.model}-{name}"] = base64.b64encode((run.subject.folder / name).read_bytes()).decode()
        return {"id": id}

    models = [model(run, functools.partial(carried, run)) for run in session.unchanged]
    for step in carried_steps(session):
        assert session.training
        files = {**models[0]["files"], "weights": {"id": f"model-0-{step}"}}
        found[f"model-0-{step}"] = base64.b64encode(weights_of(session.training.folder, step)).decode()
        models.append({**model(session.learning(0, step), lambda name: {"id": name}), "files": files})
    engine = script().replace("</script", "<\\/script")
    return {"regard-engine": engine, "regard-models": as_json(setup(session, models)), **found}
