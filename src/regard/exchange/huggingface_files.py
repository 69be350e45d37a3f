"""The files of Hugging Face folders: their weights, and their tokenizers in both directions.

docs/how-to/exchange.md lists them. Weights may be the tensors of a pickle if the user asks for it.

A folder of sentence-transformers says besides in modules.json and 1_Pooling/config.json how a text gets one vector.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from regard.errors import ModelError, UsageError, needs_extra
from regard.exchange.name_table import require
from regard.exchange.pickled_tensors import read_pickled
from regard.folder.checkpoint import WEIGHTS, read_tokenizer_file
from regard.folder.manifest import CONFIG, Manifest, Pooling, TokenizerFiles
from regard.folder.tensors import Tensors
from regard.text.tokenizer import read_sentencepiece

PICKLED = "pytorch_model.bin"
_INDEX = "model.safetensors.index.json"
_JSON, _SENTENCEPIECE, _LLAMA = "tokenizer.json", "spiece.model", "tokenizer.model"
_VOCABULARY, _TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
_MODULES = "modules.json"
_POOLINGS: dict[str, Pooling] = {"mean_tokens": "mean", "mean_sqrt_len_tokens": "mean", "cls_token": "cls"}
"""ours by theirs; every vector is scaled to length 1, so that the square root makes no difference"""
_SPECIAL = ("<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>", "<mask>")  # of byte pairs

Files = dict[str, bytes]


def read_json(folder: Path, name: str, optional: bool = False) -> dict[str, Any]:
    path = folder / name
    if optional and not path.is_file():
        return {}
    try:
        values = json.loads(path.read_bytes())
    except OSError:
        raise ModelError(f"{folder} must be a Hugging Face folder: it has no {name}; name another") from None
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ModelError(f"{path} must be a JSON object: it is not; get the model again")
    return values


def to_json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()


def read_weights(folder: Path, convert_pickle: bool) -> Tensors:
    """Every tensor of a folder, in float32."""
    names = [WEIGHTS]
    if not (folder / WEIGHTS).is_file() and (folder / _INDEX).is_file():
        shards = read_json(folder, _INDEX).get("weight_map")
        names = sorted(set(shards.values())) if isinstance(shards, dict) else []
    if any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise ModelError(f"{folder / _INDEX} must name files of its folder; get the model again")
    paths = [folder / name for name in names]
    if not paths or not all(path.is_file() for path in paths):
        path = folder / PICKLED
        if not path.is_file():
            raise ModelError(f"{folder} must have its weights in {WEIGHTS}: it has none; get the model again")
        if not convert_pickle:
            raise ModelError(
                f"{folder} has its weights only in {PICKLED}, a pickle: add --convert-pickle to read the tensors in it, "
                "or get the model as safetensors"
            )
        return read_pickled(path)
    return {name: tensor for path in paths for name, tensor in read_safetensors(path).items()}


def read_safetensors(path: Path) -> Tensors:
    """Every tensor of a file, half precision too, in float32."""
    try:
        with safetensors.safe_open(path, framework="np") as file:
            kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}
            names = [name for name, kind in kinds.items() if kind in ("F16", "F32", "F64")]
            tensors = {name: file.get_tensor(name).astype(np.float32) for name in names}
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"{path} is truncated or corrupt ({error}); get the model again") from None
    if "BF16" in kinds.values():  # which NumPy lacks: the upper half of a float32
        content = np.memmap(path, dtype=np.uint8, mode="r")
        start = 8 + int.from_bytes(content[:8].tobytes(), "little")
        for name, entry in json.loads(content[8:start].tobytes()).items():
            if kinds.get(name) == "BF16":
                begin, end = entry["data_offsets"]
                upper = content[start + begin : start + end].view("<u2").astype(np.uint32)
                tensors[name] = (upper << 16).view(np.float32).reshape(entry["shape"])
    return tensors


def read_tokenizer(folder: Path, values: Mapping[str, Any]) -> tuple[TokenizerFiles, Files]:
    """The tokenizer of a folder as our config.json names it, and its files."""
    kind = values["model_type"]
    own: dict[str, Any] = dict(kind="sentencepiece-vocabulary", vocabulary=_VOCABULARY)
    if kind == "marian" or (folder / "source.spm").is_file():
        own |= dict(source="source.spm", target="target.spm")
        if (folder / _TARGET_VOCABULARY).is_file():
            own["target_vocabulary"] = _TARGET_VOCABULARY
        tokenizer = TokenizerFiles(**own)
        return tokenizer, {name: read_tokenizer_file(folder / name) for name in sorted(tokenizer.names)}
    alone = {"t5": _SENTENCEPIECE, "llama": _LLAMA, "mistral": _LLAMA}.get(kind, "")
    if alone and not (folder / _JSON).is_file():
        proto = read_tokenizer_file(folder / alone)
        ids = to_json(_sentencepiece_ids(proto, str(folder / alone)))
        return TokenizerFiles(**own, source=alone, target=alone), {alone: proto, _VOCABULARY: ids}
    own = dict(kind="tokenizers", source=_JSON, target=_JSON)
    if kind == "bert":
        own |= dict(source_beginning=("[CLS]",), mask="[MASK]")
    if kind == "bart":
        forced = ("<s>",) if values.get("forced_bos_token_id") is not None else ()
        own |= dict(source_beginning=("<s>",), target_beginning=forced)
    return TokenizerFiles(**own), {_JSON: _tokenizer_json(folder, kind)}


def sentence_vectors(folder: Path, longest: int) -> dict[str, Any]:
    """How sentence-transformers makes one vector of a text, as our config.json says it; empty for another folder."""
    if not (folder / _MODULES).is_file():
        return {}
    try:
        modules = json.loads((folder / _MODULES).read_bytes())
        paths = {str(each["type"]).rpartition(".")[2]: str(each["path"]) for each in modules}
    except (ValueError, TypeError, KeyError):
        raise ModelError(f"{folder / _MODULES} must list modules: it is damaged; get the model again") from None
    described = read_json(folder, f"{Path(paths.get('Pooling', '')).name}/{CONFIG}")
    modes = [key.removeprefix("pooling_mode_") for key in described if key[:8] == "pooling_" and described[key] is True]
    if paths.keys() - {"Transformer", "Pooling", "Normalize"} or len(modes) != 1 or modes[0] not in _POOLINGS:
        told = f"{folder} must pool by the mean or [CLS], and do no more, for regard to compute it"
        raise ModelError(f"{told}: got {', '.join([*paths, *modes])}; import another model")
    described = read_json(folder, "sentence_bert_config.json", optional=True)
    require(described, "do_lower_case", False)
    return {"pooling": _POOLINGS[modes[0]], "longest": min(described.get("max_seq_length") or longest, longest)}


def chat_template(folder: Path, described: Mapping[str, Any]) -> str:
    """How a conversation is written, as tokenizer_config.json or a file of its own says; empty if nothing does.

    Of several templates that have names the one called default counts.
    """
    path, inside = folder / "chat_template.jinja", described.get("chat_template")
    if path.is_file():
        return path.read_text("utf-8", "replace")
    if isinstance(inside, list):
        named = {each.get("name"): each.get("template") for each in inside if isinstance(each, dict)}
        inside = named.get("default")
    return inside if isinstance(inside, str) else ""


def _tokenizer_json(folder: Path, kind: str) -> bytes:
    """The folder's own, or one made of GPT-2's two files or of BERT's word list."""
    if (folder / _JSON).is_file() or kind not in ("gpt2", "bart", "bert"):
        return read_tokenizer_file(folder / _JSON)
    parts = ("vocab.txt",) if kind == "bert" else (_VOCABULARY, "merges.txt")
    paths = [str(folder / name) for name in parts]
    for path in paths:
        read_tokenizer_file(Path(path))
    with needs_extra("huggingface", "importing this tokenizer"):
        from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
    made: Any
    if kind == "bert":
        lowercase = read_json(folder, "tokenizer_config.json", optional=True).get("do_lower_case", True)
        made = BertWordPieceTokenizer.from_file(*paths, lowercase=lowercase)
    else:
        made = ByteLevelBPETokenizer.from_file(*paths)
        made.add_special_tokens([token for token in _SPECIAL if token in made.get_vocab()])
    return str(made.to_str()).encode()


def bert_ends(files: Files, folder: Path) -> tuple[int, int]:
    """The ids of BERT's [CLS] and [SEP], which its config.json does not name."""
    ids = _ids_of(files[_JSON])
    for token in ("[CLS]", "[SEP]", "[MASK]"):
        if token not in ids:
            raise ModelError(f"{folder}: the tokenizer must have {token}: it has not; get it again")
    return ids["[CLS]"], ids["[SEP]"]


def token_ids(own: TokenizerFiles, files: Mapping[str, bytes], side: str) -> dict[str, int]:
    """The id of each token of the source or the target."""
    content = files[getattr(own, side)]
    if own.kind == "sentencepiece":
        return _sentencepiece_ids(content)
    if own.kind == "tokenizers":
        return _ids_of(content)
    vocabulary = own.target_vocabulary if side == "target" else ""
    ids: dict[str, int] = json.loads(files[vocabulary or own.vocabulary])
    return ids


def _ids_of(content: bytes) -> dict[str, int]:
    """The id of each token of a tokenizer.json, as it is spelt there."""
    try:
        described = json.loads(content)
        added = {each["content"]: each["id"] for each in described.get("added_tokens") or ()}
        vocabulary = described["model"]["vocab"]
        if isinstance(vocabulary, list):  # unigram tokens, each with its score
            vocabulary = {token: id for id, (token, _) in enumerate(vocabulary)}
        return {str(token): int(id) for token, id in {**vocabulary, **added}.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"{_JSON} must list its tokens and their ids: it is damaged ({error}); get it again"
        ) from error


def _sentencepiece_ids(proto: bytes, name: str = "the tokenizer") -> dict[str, int]:
    processor = read_sentencepiece(proto, name)
    return {processor.id_to_piece(id): id for id in range(processor.vocab_size())}


def written_tokenizer(manifest: Manifest, files: Mapping[str, bytes]) -> Files:
    """The tokenizer's files for a folder that transformers opens with AutoTokenizer."""
    own = manifest.tokenizer
    if own.prompt:
        raise UsageError(f"--to huggingface cannot hold a prompt: got {own.prompt!r}; import the model without it")
    if own.kind == "tokenizers":
        fast = {"tokenizer_class": "PreTrainedTokenizerFast"}
        return {_JSON: files[own.source], "tokenizer_config.json": to_json(fast)}
    result: Files = {"source.spm": files[own.source], "target.spm": files[own.target]}
    result[_VOCABULARY] = to_json(token_ids(own, files, "source"))
    if own.target_vocabulary or (own.kind == "sentencepiece" and not own.joint):
        result[_TARGET_VOCABULARY] = to_json(token_ids(own, files, "target"))
    described = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": manifest.source_language,
        "target_lang": manifest.target_language,
        "separate_vocabs": _TARGET_VOCABULARY in result,
        "model_max_length": manifest.longest,
    }
    return {**result, "tokenizer_config.json": to_json(described)}
