"""A SentencePiece model file from a list of tokens with scores, as GGUF and llama2.c store Llama's tokenizer.

The file is a protocol buffer (sentencepiece_model.proto): numbered fields, of which these few are needed.
"""

import json
import struct
from collections.abc import Sequence

from regard.folder.manifest import TokenizerFiles

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # kinds of tokens, in that file and in GGUF
_MODEL, _VOCABULARY = "tokenizer.model", "vocab.json"


def sentencepiece_files(
    tokens: Sequence[str], scores: Sequence[float], kinds: Sequence[int], *, space_in_front: bool = True
) -> tuple[TokenizerFiles, dict[str, bytes]]:
    """The tokenizer's names and files; pairs are merged in the order of the scores of what they give."""
    rows = zip(tokens, scores, kinds, strict=True)
    pieces = (
        _field(1, token.encode()) + b"\x15" + struct.pack("<f", score) + _number(3, kind) for token, score, kind in rows
    )
    trainer = _number(3, 2) + _number(35, 1)  # byte pairs, and bytes for what no token holds
    # Spaces stay as they are, written as a mark.
    normalizer = _field(1, b"identity") + _number(3, space_in_front) + _number(4, 0) + _number(5, 1)
    proto = b"".join(_field(1, piece) for piece in pieces) + _field(2, trainer) + _field(3, normalizer)
    vocabulary = json.dumps({token: id for id, token in enumerate(tokens)}, ensure_ascii=False).encode()
    named = TokenizerFiles(kind="sentencepiece-vocabulary", source=_MODEL, target=_MODEL, vocabulary=_VOCABULARY)
    return named, {_MODEL: proto, _VOCABULARY: vocabulary}


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content
