"""Training from Python: `regard.train`, and `regard.save` for a module that was trained by a loop of one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config import from_dict
from regard.errors import UsageError, needs_extra
from regard.folder import checkpoint
from regard.folder.catalogue import find
from regard.folder.manifest import Manifest
from regard.text.tokenizer import Tokenizer
from regard.train.recipe import SECTIONS, Request, parse_settings, read_recipe

if TYPE_CHECKING:
    from regard.train.run import TrainResult


def train(
    output: str | Path,
    *,
    recipe: str | None = None,
    data: str | Path = "data",
    init: str | Path | None = None,
    resume: bool = False,
    show_progress: bool = True,
    **settings: Any,
) -> TrainResult | None:
    """Train a model as `regard train` does: `regard.train("runs/mine", pairs="pairs.tsv", size="tiny", steps=500)`.

    The result has the folder, which `regard.load` takes, the scores and the seconds; under torchrun only the first
    process gets it.
    output: a new folder for the run and the model.
    recipe, data, init: a named recipe or TOML file, the folder of its text, and a model to start from.
    resume: continue the run in `output` with its own settings.
    settings: those of docs/reference/settings.md by their names; `**{"data.max_length": 100}` where two sections share one.
    """
    with needs_extra("torch", "training"):
        from regard.train.run import train as run
    # As the command line reads them: but for none, a value in JSON is one in TOML.
    json_of = partial(json.dumps, ensure_ascii=False, default=str)
    texts = [f"{name}={json_of('none' if each is None else each)}" for name, each in settings.items()]
    changes = parse_settings(texts, SECTIONS)
    request = read_recipe(recipe).with_files(Path(data), changes.get("data", {})) if recipe else Request()
    request = request.changed(changes, "regard.train")
    request = replace(request, init=find(init) if init else None)
    return run(request, Path(output), resume=resume, show_progress=show_progress)


def save(
    module: Any, folder: str | Path, tokenizer: Tokenizer | tuple[Tokenizer, Tokenizer], *, card: str = "", **about: Any
) -> None:
    """Write a torch module that `regard.model.build` made as a model folder, with the CPU engine's graphs.

    tokenizer: that of both sides, or that of the source and that of the target.
    card: the text of its README.md. The options are source_language="", target_language="", longest=256 in tokens,
    weights="fp32", decode=DecodeConfig(), and task, which an encoder-decoder model has as "translate".
    """
    with needs_extra("torch", "saving a module"):
        from regard.engine.torch import to_tensors
        from regard.exchange import onnx
        from regard.train.corpora import JOINT, SEPARATE
    config, folder = module.config, Path(folder)
    sides = tokenizer if isinstance(tokenizer, tuple) else (tokenizer, tokenizer)
    sizes = config.source_vocab_size * config.has_encoder, config.target_vocab_size * config.has_decoder
    for size, side in zip(sizes, sides, strict=True):
        if size not in (0, side.vocab_size):
            raise UsageError(
                f"a model must have its tokenizer's vocabulary, {side.vocab_size}: got {size}; save its own"
            )
    files = JOINT if sides[0] is sides[1] else SEPARATE
    own_task = {"decoder-only": "write", "encoder-only": "search"}.get(config.architecture, "translate")
    manifest = from_dict(Manifest, {"task": own_task, **about, "model": config, "tokenizer": files}, "regard.save")
    contents = {files.source: sides[0].proto, files.target: sides[1].proto}
    tensors = to_tensors(module.state_dict(), config)
    checkpoint.save(folder, manifest, tensors, contents, card or f"# {folder.name}\n", graphs=onnx.export)
