"""A model is a folder: config.json, model.safetensors, the tokenizer's files and README.md, the card.

The weights have one of three forms (`tensors`). Nothing is pickled, and a folder is written whole or not at all.
SHA256SUMS holds the checksums of weights and tokenizer; a folder may be without it.
"""

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from regard.errors import ModelError
from regard.files import digest, finish_replacing, fresh_folder, replace_files, write_file
from regard.folder.manifest import CONFIG, Manifest, TokenizerFiles, read_manifest
from regard.folder.tensors import Tensors, dequantize, expected_tensors, in_form, stored_tensors
from regard.text.tokenizer import Tokenizer, TokenizerBase

WEIGHTS, CARD, SUMS = "model.safetensors", "README.md", "SHA256SUMS"


def save(
    folder: str | Path,
    manifest: Manifest,
    tensors: Mapping[str, np.ndarray],
    files: Mapping[str, bytes],
    card: str,
    *,
    graphs: Callable[[Path], None] | None = None,
) -> None:
    """Write a whole model folder, or none of it.

    `tensors` are those of the state dict, tied ones once; the manifest says in which form to store them. `graphs`
    writes the engine's graphs into a folder that has everything else. An existing model is replaced; other files stay.
    """
    folder = Path(folder).resolve()
    assert manifest.tokenizer.names <= files.keys(), "a file of the tokenizer is not given"
    _check_against(expected_tensors(manifest.model), {name: tensor.shape for name, tensor in tensors.items()}, folder)
    for name, tensor in tensors.items():
        _check_finite(name, tensor, folder)
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"a model is a folder, but {folder} is a file: name another place")
    finish_replacing(folder, last=CONFIG)
    with fresh_folder(folder) as fresh:
        for name, content in files.items():
            assert Path(name).name == name
            write_file(fresh / name, content)
        write_file(fresh / WEIGHTS, safetensors.numpy.save(in_form(tensors, manifest.weights)))
        sums = [f"{digest(fresh / name)}  {name}\n" for name in (WEIGHTS, *sorted(files))]
        write_file(fresh / SUMS, "".join(sums).encode())
        write_file(fresh / CARD, card.encode())
        write_file(fresh / CONFIG, manifest.to_json().encode())
        if graphs is not None:
            graphs(fresh)
        stale = _replaced(folder, {path.name for path in fresh.iterdir()})
        replace_files(fresh, folder, last=CONFIG, stale=stale)


def read_tensors(folder: str | Path, manifest: Manifest | None = None) -> Tensors:
    """Every tensor of the model in float32, under its state-dict name, whatever form it is stored in."""
    return dequantize(_read_stored(Path(folder), manifest or read_manifest(folder), all_of=True))


def check_weights(folder: str | Path, manifest: Manifest) -> None:
    """Refuse a weight file that is corrupt or of another model, without holding it in memory."""
    _read_stored(Path(folder), manifest, all_of=False)


def read_header(folder: str | Path) -> bytes:
    """The header of the weight file: where each tensor lies. A graph fits one such layout."""
    with open(Path(folder) / WEIGHTS, "rb") as file:
        length = file.read(8)
        return length + file.read(int.from_bytes(length, "little"))


def read_card(folder: Path) -> str:
    """The model card, without its pictures, which are files beside it; empty where there is none."""
    path = folder / CARD
    lines = path.read_text("utf-8", "replace").splitlines(keepends=True) if path.is_file() else []
    return "".join(line for line in lines if not line.startswith("!["))


def licence_of(folder: Path) -> str:
    """The licence that a model's card names; `other` without one."""
    named = re.search(r"^license: *(\S+)", read_card(folder), re.MULTILINE)
    return named[1] if named else "other"


def read_files(folder: str | Path, manifest: Manifest) -> dict[str, bytes]:
    """The tokenizer's files."""
    return {name: read_tokenizer_file(Path(folder) / name) for name in sorted(manifest.tokenizer.names)}


def read_tokenizer_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} must be a tokenizer file: {error.strerror}; get the model again") from error


def open_tokenizers(folder: str | Path, files: TokenizerFiles) -> tuple[TokenizerBase, TokenizerBase]:
    """The tokenizers of source and target; the same one twice where they do not differ."""
    folder = Path(folder)
    for name in sorted(files.names):
        if (folder / name).is_file():  # a missing file is refused where it is opened
            check_sum(folder / name)
    if files.kind == "sentencepiece":
        own = Tokenizer.load(folder / files.source)
        target = own if files.joint and not files.prompt else Tokenizer.load(folder / files.target)
        own.prompt = files.prompt
        return own, target
    from regard.text.imported_tokenizers import JsonTokenizer, VocabularyTokenizer

    def opened(file: str, vocabulary: str, **beginning: Any) -> TokenizerBase:
        name, content = str(folder / file), read_tokenizer_file(folder / file)
        if files.kind == "tokenizers":
            return JsonTokenizer(content, name=name, **beginning)
        ids = read_tokenizer_file(folder / vocabulary)
        return VocabularyTokenizer(content, ids, name=name, **beginning)

    prompt, first = files.prompt, files.source_beginning
    source = opened(files.source, files.vocabulary, prompt=prompt, beginning=first)
    if files.joint and not prompt and first == files.target_beginning:
        return source, source
    vocabulary = files.target_vocabulary or files.vocabulary
    return source, opened(files.target, vocabulary, prompt="", beginning=files.target_beginning)


def _read_stored(folder: Path, manifest: Manifest, all_of: bool) -> Tensors:
    path = folder / WEIGHTS
    if not path.is_file():
        raise ModelError(f"{folder} has no {WEIGHTS}; get the model again")
    tensors: Tensors = {}
    try:
        with safetensors.safe_open(path, framework="np") as file:
            entries = json.loads(read_header(folder)[8:], object_pairs_hook=list)
            if len({name for name, _ in entries}) < len(entries):  # readers would differ
                raise OSError("a tensor name occurs twice")
            slices = {name: file.get_slice(name) for name in file.keys()}
            got = {name: (s.get_dtype(), tuple(s.get_shape())) for name, s in slices.items()}
            _check_against(stored_tensors(manifest.model, manifest.weights), got, path)
            for name, (kind, _) in got.items():
                if all_of or kind != "I8":
                    tensor = file.get_tensor(name)
                    _check_finite(name, tensor, path)
                    tensors |= {name: tensor} if all_of else {}
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"{path} is truncated or corrupt ({error}); get the model again") from None
    check_sum(path)
    return tensors


def check_sum(path: Path) -> None:
    """Refuse a file whose checksum is not the one in SHA256SUMS, if that is known."""
    try:
        known = (path.parent / SUMS).read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for expected, _, name in (line.partition("  ") for line in known):
        if name == path.name and digest(path) != expected:
            raise ModelError(f"{path} must have the checksum in {SUMS}: it has another; get the model again")


def _check_against(expected: Mapping[str, Any], got: Mapping[str, Any], where: Path) -> None:
    for name in {**expected, **got}:
        wanted, found = expected.get(name, "none"), got.get(name, "none")
        if wanted != found:
            raise ModelError(
                f"{where}: tensor {name}: expected {wanted} as {CONFIG} says, got {found}; "
                "the two files are not of one model, get it again"
            )


def _check_finite(name: str, tensor: np.ndarray, where: Path) -> None:
    if tensor.dtype != np.int8 and not np.isfinite(tensor).all():
        raise ModelError(f"{where}: tensor {name} holds values that are not finite numbers; use an earlier checkpoint")


def _replaced(folder: Path, new: set[str]) -> set[str]:
    """The files of the old model in a folder that the new one does not have."""
    if not (folder / CONFIG).is_file():
        if clash := sorted(name for name in new if (folder / name).exists()):
            raise ModelError(f"{folder} holds a {clash[0]} that is not a model's: move it or name another folder")
        return set()
    own = {CONFIG, WEIGHTS, CARD, SUMS, *(path.name for path in folder.glob("*.onnx"))}
    with contextlib.suppress(ModelError):
        own |= read_manifest(folder).tokenizer.names
    return own - new
