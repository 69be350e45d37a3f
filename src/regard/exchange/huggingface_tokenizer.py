"""Tokenizers of Hugging Face folders: their files, and the tokens around a text.

marian          source.spm, target.spm, vocab.json
t5, pegasus     tokenizer.json, or spiece.model
gpt2, bart      tokenizer.json, or vocab.json and merges.txt
bert            tokenizer.json, or vocab.txt
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra, ModelError, UsageError
from regard.exchange.huggingface_weights import read_json
from regard.folder.manifest import Manifest, TokenizerFiles

JSON = "tokenizer.json"
SENTENCEPIECE = "spiece.model"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"

Files = dict[str, bytes]


def read(folder: Path, values: Mapping[str, Any]) -> tuple[TokenizerFiles, Files]:
    """The tokenizer of a folder as our config.json names it, and its files."""
    kind = values["model_type"]
    if kind == "marian" or (folder / "source.spm").is_file():
        return _marian(folder)
    if (folder / JSON).is_file():
        files = {JSON: (folder / JSON).read_bytes()}
    elif kind == "t5" and (folder / SENTENCEPIECE).is_file():
        return _sentencepiece(folder)
    elif kind in ("gpt2", "bart"):
        files = {JSON: _byte_pair_merges(folder)}
    elif kind == "bert":
        files = {JSON: _word_list(folder)}
    else:
        raise ModelError(f"{folder} must have a {JSON}: it has none; get the model again")
    tokenizer = TokenizerFiles(kind="tokenizers", source=JSON, target=JSON)
    if kind == "bert":
        tokenizer = replace(tokenizer, source_beginning=("[CLS]",), mask="[MASK]")
    if kind == "bart":
        forced = ("<s>",) if values.get("forced_bos_token_id") is not None else ()
        tokenizer = replace(tokenizer, source_beginning=("<s>",), target_beginning=forced)
    return tokenizer, files


def bert_ends(files: Files, folder: Path) -> tuple[int, int]:
    """The ids of BERT's [CLS] and [SEP], which its config.json does not name."""
    ids = ids_of(json.loads(files[JSON]))
    for token in ("[CLS]", "[SEP]", "[MASK]"):
        if token not in ids:
            raise ModelError(f"{folder}: the tokenizer must have {token}: it has not; get it again")
    return ids["[CLS]"], ids["[SEP]"]


def ids_of(described: Mapping[str, Any]) -> dict[str, int]:
    """The id of each token of a tokenizer.json, as it is spelt there."""
    added = {each["content"]: each["id"] for each in described.get("added_tokens", ())}
    vocabulary = described.get("model", {}).get("vocab", {})
    if isinstance(vocabulary, list):  # unigram tokens, each with its score
        vocabulary = {token: id for id, (token, _) in enumerate(vocabulary)}
    return {**vocabulary, **added}


def sentencepiece_ids(proto: bytes) -> dict[str, int]:
    """The id of each token of a SentencePiece model."""
    import sentencepiece

    processor: Any = sentencepiece.SentencePieceProcessor(model_proto=proto or b"\xff")
    return {processor.id_to_piece(id): id for id in range(processor.vocab_size())}


def _marian(folder: Path) -> tuple[TokenizerFiles, Files]:
    tokenizer = TokenizerFiles(
        kind="sentencepiece-vocabulary",
        source="source.spm",
        target="target.spm",
        vocabulary=VOCABULARY,
        target_vocabulary=TARGET_VOCABULARY if (folder / TARGET_VOCABULARY).is_file() else "",
    )
    return tokenizer, {name: _content(folder, name) for name in sorted(tokenizer.names)}


def _sentencepiece(folder: Path) -> tuple[TokenizerFiles, Files]:
    """T5's, whose ids are those of its SentencePiece model."""
    proto = _content(folder, SENTENCEPIECE)
    try:
        ids = sentencepiece_ids(proto)
    except (RuntimeError, OSError) as error:
        raise ModelError(
            f"{folder / SENTENCEPIECE} must be a SentencePiece model: it is not; get it again"
        ) from error
    tokenizer = TokenizerFiles(
        kind="sentencepiece-vocabulary",
        source=SENTENCEPIECE,
        target=SENTENCEPIECE,
        vocabulary=VOCABULARY,
    )
    listed = json.dumps(ids, ensure_ascii=False).encode()
    return tokenizer, {SENTENCEPIECE: proto, VOCABULARY: listed}


def _byte_pair_merges(folder: Path) -> bytes:
    """A tokenizer.json of GPT-2's two files."""
    library = _library()
    ids = json.loads(_content(folder, VOCABULARY))
    lines = _content(folder, "merges.txt").decode().split("\n")
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    tokenizer = library.Tokenizer(library.models.BPE(vocab=ids, merges=merges))
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    return _with_special(tokenizer, ids, "<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>", "<mask>")


def _word_list(folder: Path) -> bytes:
    """A tokenizer.json of BERT's word list."""
    library = _library()
    words = _content(folder, "vocab.txt").decode().rstrip("\n").split("\n")
    ids = {word: id for id, word in enumerate(words)}
    described = read_json(folder, "tokenizer_config.json", optional=True)
    tokenizer = library.Tokenizer(library.models.WordPiece(vocab=ids, unk_token="[UNK]"))
    lowercase = described.get("do_lower_case", True)
    tokenizer.normalizer = library.normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = library.decoders.WordPiece()
    return _with_special(tokenizer, ids, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def _with_special(tokenizer: Any, ids: Mapping[str, int], *special: str) -> bytes:
    tokenizer.add_special_tokens([token for token in special if token in ids])
    return str(tokenizer.to_str()).encode()


def _library() -> Any:
    try:
        import tokenizers
    except ModuleNotFoundError as error:
        raise MissingExtra("tokenizers", "huggingface", "importing this tokenizer") from error
    return tokenizers


def _content(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise ModelError(
            f"{folder} must have the tokenizer's file {name}: {error.strerror}; get the model again"
        ) from error


def written(manifest: Manifest, files: Mapping[str, bytes]) -> Files:
    """The tokenizer's files for a folder that transformers opens with AutoTokenizer."""
    tokenizer = manifest.tokenizer
    if tokenizer.prompt:
        raise UsageError(
            f"--to huggingface cannot hold a text before every text: got the prompt {tokenizer.prompt!r}; "
            "import the model without it"
        )
    if tokenizer.kind == "tokenizers":
        fast = {"tokenizer_class": "PreTrainedTokenizerFast"}
        return {JSON: files[tokenizer.source], "tokenizer_config.json": to_json(fast)}
    source, target = files[tokenizer.source], files[tokenizer.target]
    result: Files = {"source.spm": source, "target.spm": target}
    if tokenizer.kind == "sentencepiece":
        result[VOCABULARY] = to_json(sentencepiece_ids(source))
        if not tokenizer.joint:
            result[TARGET_VOCABULARY] = to_json(sentencepiece_ids(target))
    else:
        result[VOCABULARY] = files[tokenizer.vocabulary]
        if tokenizer.target_vocabulary:
            result[TARGET_VOCABULARY] = files[tokenizer.target_vocabulary]
    described = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": manifest.source_language,
        "target_lang": manifest.target_language,
        "separate_vocabs": TARGET_VOCABULARY in result,
        "model_max_length": manifest.longest,
    }
    return {**result, "tokenizer_config.json": to_json(described)}


def to_json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
