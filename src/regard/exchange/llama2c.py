"""llama2.c (Karpathy 2023): a Llama in one file, seven numbers and then its tensors in float32.

    width, inner width, layers, heads, heads of keys, vocabulary (below 0: the output has a table of its own), length

The tokenizer stands in tokenizer.bin beside it, or behind the tensors: the longest token's bytes, then for each token its
score, its number of bytes and these.
"""

import math
import struct
from pathlib import Path

import numpy as np

from regard.config import ModelConfig
from regard.errors import ModelError, UsageError
from regard.exchange.decoders import LLAMA, DecoderFiles
from regard.exchange.sentencepiece_file import BYTE, CONTROL, NORMAL, UNKNOWN, sentencepiece_files
from regard.folder.tensors import Tensors, expected_tensors
from regard.text.tokenizer import SPACE_MARK

_FIRST = ("<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)))
"""the first tokens of every Llama, which some files spell in another way"""
_ORDER = (
    *("self_attention.norm", "self_attention.query", "self_attention.key", "self_attention.value"),
    *("self_attention.output", "feed_forward.norm", "feed_forward.hidden", "feed_forward.output", "feed_forward.gate"),
)
"""the tensors of all layers, each kind for all layers together"""


def read(path: Path) -> DecoderFiles:
    """The model of a checkpoint."""
    try:
        content = path.read_bytes()
        width, inner, layers, heads, key_heads, vocabulary, length = struct.unpack_from("<7i", content)
        config = ModelConfig(
            **LLAMA,
            source_vocab_size=abs(vocabulary),
            target_vocab_size=abs(vocabulary),
            num_decoder_layers=layers,
            d_model=width,
            d_ff=inner,
            num_heads=heads,
            num_key_value_heads=key_heads,
            max_positions=length,
            feed_forward="gated-silu",
            biases="none",
            tied="none" if vocabulary < 0 else "all",
            bos_id=1,
            eos_id=1,  # a text ends where the next one would begin
        )
        tensors, end = _tensors(content, config)
        rest = content[end:] or (path.parent / "tokenizer.bin").read_bytes()
        tokens, scores = _tokens(rest, abs(vocabulary))
    except OSError as error:
        raise ModelError(f"{error.filename} must be a file of llama2.c: {error.strerror}; get it again") from error
    except (struct.error, ValueError, UsageError) as error:
        raise ModelError(
            f"{path} must be a whole checkpoint of llama2.c: it is damaged ({error}); get it again"
        ) from error
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * (len(tokens) - len(_FIRST))]
    tokenizer, files = sentencepiece_files(tokens, scores, kinds)
    return DecoderFiles("llama2.c", config, tensors, tokenizer, files, {token: id for id, token in enumerate(tokens)})


def _tensors(content: bytes, config: ModelConfig) -> tuple[Tensors, int]:
    """The tensors, and where they end."""
    at, found, layers = 28, Tensors(), config.num_decoder_layers
    if layers > len(content):
        raise ValueError(f"{layers} layers")
    shapes = expected_tensors(config)

    def take(shape: tuple[int, ...]) -> np.ndarray:
        nonlocal at
        array = np.frombuffer(content, "<f4", math.prod(shape), at)
        at += array.nbytes
        return array.reshape(shape)

    found["target.embedding.weight"] = take(shapes["target.embedding.weight"])
    for part in _ORDER:
        together = take((layers, *shapes[f"decoder.layers.0.{part}.weight"]))
        found |= {f"decoder.layers.{i}.{part}.weight": each for i, each in enumerate(together)}
    found["decoder.final_norm.weight"] = take((config.d_model,))
    take((2, config.max_positions, config.head_dim // 2))  # cosines and sines
    if config.tied == "none":
        found["output.weight"] = take(shapes["output.weight"])
    return found, at


def _tokens(content: bytes, count: int) -> tuple[list[str], list[float]]:
    at, tokens, scores = 4, list[str](), list[float]()
    for _ in range(count):
        score, length = struct.unpack_from("<fi", content, at)
        token = content[at + 8 : at + 8 + length].decode()
        if not 0 <= length <= len(content) - at - 8:
            raise ValueError(f"a token of {length} bytes")
        at += 8 + length
        tokens.append(token.replace(" ", SPACE_MARK))
        scores.append(score)
    return [*_FIRST, *tokens[len(_FIRST) :]], scores
