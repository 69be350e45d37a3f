"""GGUF: a model of llama.cpp in one file, its sizes, tokenizer and chat template among the metadata.

    magic, version, counts    for each key: name, kind, value    for each tensor: name, shape, kind, place    the tensors

The header is read here, every length held against the size of the file, which may be damaged or made to harm. The
package gguf turns the many kinds of quantized blocks into float32.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import ModelError, UsageError, needs_extra
from regard.exchange import decoders
from regard.exchange import name_table as names
from regard.exchange.decoders import DecoderFiles
from regard.exchange.huggingface_files import Files, to_json
from regard.exchange.sentencepiece_file import sentencepiece_files
from regard.folder.manifest import TokenizerFiles
from regard.folder.tensors import Tensors

MAGIC = b"GGUF"
_SCALARS = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<f4", "?", "", "", "<u8", "<i8", "<f8")
_STRING, _ARRAY = 8, 9
_DAMAGES = (ValueError, LookupError, TypeError, ArithmeticError, NotImplementedError, AttributeError, UsageError)
_ALIGNMENT = 32  # bytes, where the file does not say
_ARCHITECTURES = {"llama": False, "qwen2": True, "qwen3": True}  # whether a head's features are two halves
_LLAMA3_LENGTH = 8192  # words of the texts that Llama 3 was first trained on
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,%d}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}


def _split(digits: int) -> list[dict[str, Any]]:
    pattern = {"Regex": _WORDS % digits}
    return [
        {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False},
        {**_BYTES, "use_regex": False},
    ]


_BEFORE_MERGING = {
    "gpt-2": [_BYTES],
    "smollm": [{"type": "Digits", "individual_digits": True}, _BYTES],
    "qwen2": _split(1),
    "llama-bpe": _split(3),
}
"""how a text is cut before bytes are merged, by the name that the file gives it"""


class _Header:
    """Values one after another; none may go beyond the end of the file."""

    def __init__(self, content: np.ndarray) -> None:
        self._content, self.at = content, 0

    def array(self, kind: str, count: int) -> np.ndarray:
        size = np.dtype(kind).itemsize * count
        if size > len(self._content) - self.at:
            raise ValueError(f"{size} bytes are wanted at byte {self.at} of {len(self._content)}")
        found = self._content[self.at : self.at + size].view(kind)
        self.at += size
        return found

    def number(self, kind: str = "<u8") -> int:
        return int(self.array(kind, 1)[0])

    def text(self) -> str:
        return self.array("u1", self.number()).tobytes().decode()

    def value(self) -> Any:
        kind = self.number("<u4")
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            return self.array(_scalar(kind), 1)[0].item()
        of, count = self.number("<u4"), self.number()
        if of == _STRING:
            # A text takes eight bytes at least.
            return [self.text() for _ in range(min(count, len(self._content) // 8 + 1))]
        return self.array(_scalar(of), count).tolist()


def _scalar(kind: int) -> str:
    if kind >= len(_SCALARS) or not _SCALARS[kind]:
        raise ValueError(f"a value is of kind {kind}, which is unknown")
    return _SCALARS[kind]


def read(path: Path) -> DecoderFiles:
    """The model of a file."""
    with needs_extra("gguf", "reading GGUF"):
        import gguf
    try:
        content = np.memmap(path, np.uint8, "r")
        header = _Header(content)
        if header.array("u1", 4).tobytes() != MAGIC or header.number("<u4") not in (2, 3):
            raise ValueError("it does not begin as one of version 2 or 3")
        num_tensors, num_keys = header.number(), header.number()
        about = {header.text(): header.value() for _ in range(min(num_keys, len(content)))}
        places = {header.text(): _place(header) for _ in range(min(num_tensors, len(content)))}
        unit = int(about.get("general.alignment", _ALIGNMENT))
        start = -(-header.at // unit) * unit
        theirs: Tensors = {}
        for name, (shape, kind, offset) in places.items():
            of_block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(kind)]
            header.at = start + offset
            blocks = header.array("u1", math.prod(shape) // of_block * size)
            with np.errstate(all="ignore"):  # values that are no numbers are refused when the model is saved
                wide = gguf.quants.dequantize(blocks.reshape(*shape[:-1], -1), gguf.GGMLQuantizationType(kind))
            theirs[name] = np.asarray(wide, np.float32).reshape(shape)
        return _decoder(about, theirs)
    except _DAMAGES as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ModelError(f"{path} must be a whole GGUF file: it is damaged ({reason}); get it again") from error
    except OSError as error:
        raise ModelError(f"{path} must be a GGUF file: {error.strerror or error}; check the path") from error


def _place(header: _Header) -> tuple[tuple[int, ...], int, int]:
    """The shape of a tensor, its kind and its place after the header; the file counts the axes from the last."""
    axes = header.array("<u8", header.number("<u4"))
    shape = tuple(int(size) for size in reversed(axes))
    return shape, header.number("<u4"), header.number()


def _decoder(about: Mapping[str, Any], theirs: Tensors) -> DecoderFiles:
    kind = about["general.architecture"]
    if kind not in _ARCHITECTURES:
        raise ModelError(
            f"a GGUF model to import must be one of {', '.join(_ARCHITECTURES)}: got {kind!r}; name another"
        )
    keys = names.tables()["gguf"]["settings"]
    values = {key: about[f"{kind}.{theirs}"] for theirs, key in keys.items() if f"{kind}.{theirs}" in about}
    values |= {"model_type": kind, "vocab_size": len(theirs["token_embd.weight"])}
    for key in ("bos_token_id", "eos_token_id"):
        values[key] = about.get(f"tokenizer.ggml.{key}")
    values["pad_token_id"] = about.get("tokenizer.ggml.padding_token_id")
    if (scaling := about.get(f"{kind}.rope.scaling.type", "none")) != "none":
        values["rope_scaling"] = {"type": scaling, "factor": about[f"{kind}.rope.scaling.factor"]}
    divisors = theirs.get("rope_freqs.weight")
    if divisors is not None:
        llama3 = {"type": "llama3", "factor": divisors.max(), "original_max_position_embeddings": _LLAMA3_LENGTH}
        values["rope_scaling"] = llama3
    config = decoders.config_of(values, theirs, decoders.GGUF)
    if divisors is not None and not np.allclose(decoders.divisors_of(config), divisors, rtol=1e-3):
        raise ModelError("rope_freqs.weight must be Llama 3's scaling for regard to compute it: import another model")
    tensors = decoders.tensors_of(theirs, config, decoders.GGUF, halves=_ARCHITECTURES[kind])
    tokenizer, files, ids = _tokenizer(about)
    return DecoderFiles(kind, config, tensors, tokenizer, files, ids, about.get("tokenizer.chat_template", ""))


def _tokenizer(about: Mapping[str, Any]) -> tuple[TokenizerFiles, Files, dict[str, int]]:
    """Its names and files, and the id of each token."""
    tokens, kinds = about["tokenizer.ggml.tokens"], about["tokenizer.ggml.token_type"]
    ids = {token: id for id, token in enumerate(tokens)}
    if about["tokenizer.ggml.model"] == "llama":
        space = about.get("tokenizer.ggml.add_space_prefix", True)
        return *sentencepiece_files(tokens, about["tokenizer.ggml.scores"], kinds, space_in_front=space), ids
    named = about.get("tokenizer.ggml.pre", "gpt-2")
    if about["tokenizer.ggml.model"] != "gpt2" or named not in _BEFORE_MERGING:
        known = ", ".join(_BEFORE_MERGING)
        raise ModelError(f"the tokenizer of a GGUF model must be llama or one of {known}: got {named!r}; name another")
    added = [
        {"id": id, "content": token, "special": kind == 3, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for id, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (3, 4)
    ]  # control tokens, and tokens that are found in a text before all others
    model = {
        "type": "BPE",
        "ignore_merges": named == "llama-bpe",
        "vocab": ids,
        "merges": about["tokenizer.ggml.merges"],
    }
    described = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": {"type": "NFC"} if named == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _BEFORE_MERGING[named]},
        "decoder": _BYTES,
        "model": model,
    }
    tokenizer = TokenizerFiles(kind="tokenizers", source="tokenizer.json", target="tokenizer.json")
    return tokenizer, {"tokenizer.json": to_json(described)}, ids
