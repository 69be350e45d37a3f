"""Repositories of the Hugging Face hub, through its own client: a pinned revision comes, a model folder goes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from regard.data.download import digest
from regard.errors import MissingExtra, ModelError
from regard.exchange.hub.address import Address
from regard.folder.checkpoint import CARD, SUMS, WEIGHTS, check_weights
from regard.folder.manifest import CONFIG, read_manifest

NEEDED = (
    *("*.json", "*.safetensors", "*.model", "*.spm", "*.txt", "*.onnx", CARD, SUMS),
    *("tokenizer*", "vocab*", "merges*"),
)
"""what a model is made of; nothing else of a repository is downloaded"""
_PICKLED = "pytorch_model.bin"


def _client() -> Any:
    try:
        import huggingface_hub
    except ModuleNotFoundError as error:
        raise MissingExtra("huggingface-hub", "hub", "reaching the Hugging Face hub") from error
    return huggingface_hub


def download(
    address: Address, work: Path, *, wants_pickle: bool = False
) -> tuple[Path, dict[str, Any]]:
    """The files of a revision, each with the checksum that the hub gives; and which revision that was."""
    client = _client()
    came = work / "files"
    patterns = [*NEEDED, *([_PICKLED] if wants_pickle else [])]
    try:
        info = client.HfApi().model_info(
            address.repository, revision=address.revision or None, files_metadata=True
        )
        client.snapshot_download(
            address.repository, revision=info.sha, local_dir=came, allow_patterns=patterns
        )
    except (client.errors.HfHubHTTPError, client.errors.LocalEntryNotFoundError, OSError) as error:
        raise ModelError(_reason(address, error)) from error
    except client.errors.HFValidationError as error:
        raise ModelError(f"hf:{address.repository} must be a repository: {error}") from error
    checksums = {}
    for sibling in info.siblings:
        file = came / sibling.rfilename
        if file.parent == came and file.is_file():
            checksums[sibling.rfilename] = _checked(file, sibling)
    return came, {
        "from": f"hf:{address.repository}",
        "revision": info.sha,
        "files": checksums,
    }


def _reason(address: Address, error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    where = f"@{address.revision}" if address.revision else ""
    return (
        f"hf:{address.repository}{where} must be reachable on the hub: {lines[0] if lines else error}; check the "
        "name and the connection, then run the same again to go on"
    )


def _checked(file: Path, sibling: Any) -> str:
    """The sha256 of a file, which must be what the hub says of it: that, or the name of its content in git."""
    sha256 = digest(file)
    if sibling.lfs is not None:
        expected, found = sibling.lfs.sha256, sha256
    else:
        content = file.read_bytes()
        head = f"blob {len(content)}\0".encode()
        found = hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
        expected = sibling.blob_id or found
    if expected != found:
        file.unlink()
        raise ModelError(
            f"{file.name} must have the checksum {expected} that the hub gives: got {found}; run the same again"
        )
    return sha256


def push(folder: Path, repository: str, *, revision: str = "", private: bool = False) -> str:
    """Put a model folder into a repository, made if it is not there; the address of what it holds now."""
    client = _client()
    manifest = read_manifest(folder)
    check_weights(folder, manifest)
    names = [CONFIG, WEIGHTS, CARD, SUMS, *manifest.tokenizer.names, "*.onnx"]
    api = client.HfApi()
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository,
            folder_path=folder,
            revision=revision or None,
            allow_patterns=names,
            commit_message=f"{folder.resolve().name}, a model of regard",
        )
    except (client.errors.HfHubHTTPError, OSError, ValueError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
        raise ModelError(
            f"hf:{repository} must take the model: {reason}; log in with  hf auth login, or check the name"
        ) from error
    return str(commit.commit_url)
