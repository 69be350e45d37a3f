"""Tokenizers of models that other programs trained.

`VocabularyTokenizer` is SentencePiece with its own numbering of tokens in a JSON file (Marian, T5). `JsonTokenizer` is what
a tokenizer.json describes (GPT-2's bytes, BERT's WordPiece), read by the package tokenizers. A text need not come back
as it was: some of them lower its case.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from regard.errors import MissingExtra, ModelError
from regard.text import Span
from regard.text.tokenizer_base import SPACE_MARK, SURROGATE, TokenizerBase

_LANGUAGE = re.compile("(>>[^<> ]+<<) ?")


class _Foreign(TokenizerBase):
    """The base of both; `prompt` is put before every text, and the tokens `beginning` before that."""

    def __init__(self, prompt: str, beginning: Sequence[str], name: str) -> None:
        self.prompt = prompt
        found = [(token, self.id_of(token)) for token in beginning]
        for token, id in found:
            if id is None:
                raise ModelError(
                    f"{name} must have the token {token!r}, which config.json names: it has not; "
                    "import the model again"
                )
        self.beginning = [id for _, id in found if id is not None]

    @abstractmethod
    def _encode(self, text: str) -> list[int]:
        """The ids of a text without the prompt."""

    @abstractmethod
    def _decode(self, ids: list[int]) -> str:
        """The text of ids none of which is special."""

    def encode(self, text: str) -> list[int]:
        return self._encode(SURROGATE.sub("\ufffd", self.prompt + text))

    def encode_around(self, parts: Sequence[str], sign: int) -> list[int]:
        ids = self.encode(parts[0])
        for part in parts[1:]:
            ids += [sign, *self._encode(SURROGATE.sub("\ufffd", part))]
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        return self._decode([int(id) for id in ids if id not in self.special_ids])

    def spans_in(self, text: str) -> list[Span]:
        before = len(self.prompt)
        found = super().spans_in(text)
        return [(max(start - before, 0), max(end - before, 0)) for start, end in found]


class VocabularyTokenizer(_Foreign):
    """SentencePiece with the ids of a JSON file.

    A language such as >>fra<< at the beginning of a text is one token if the vocabulary holds it: it tells a
    multilingual model which language to write.
    """

    def __init__(
        self,
        proto: bytes,
        vocabulary: bytes,
        *,
        name: str,
        prompt: str = "",
        beginning: Sequence[str] = (),
    ) -> None:
        import sentencepiece

        try:
            self._processor: Any = sentencepiece.SentencePieceProcessor(
                model_proto=proto or b"\xff"
            )
        except (RuntimeError, OSError) as error:
            raise _damaged(name, "SentencePiece model") from error
        self._ids = _read_vocabulary(vocabulary, name)
        self._tokens = {id: token for token, id in self._ids.items()}
        self.vocab_size = max(self._tokens) + 1
        super().__init__(prompt, beginning, name)
        self._unknown = self._ids.get("<unk>", 0)
        special = {"<unk>", "</s>", "<s>", "<pad>"}
        self.special_ids = frozenset(
            id for token, id in self._ids.items() if token in special or _LANGUAGE.fullmatch(token)
        )

    def id_of(self, token: str) -> int | None:
        return self._ids.get(token)

    def _encode(self, text: str) -> list[int]:
        first: list[int] = []
        language = _LANGUAGE.match(text)
        if language and language.group(1) in self._ids:
            first, text = [self._ids[language.group(1)]], text[language.end() :]
        tokens: list[str] = self._processor.encode(text, out_type=str)
        return first + [self._ids.get(token, self._unknown) for token in tokens]

    def _decode(self, ids: list[int]) -> str:
        text: str = self._processor.decode_pieces(self.token_strings(ids))
        return text.replace(SPACE_MARK, " ").strip()

    def token_strings(self, ids: Iterable[int]) -> list[str]:
        return [self._tokens.get(int(id), "") for id in ids]


class JsonTokenizer(_Foreign):
    """A tokenizer.json; special tokens are never read from a text."""

    def __init__(
        self, content: bytes, *, name: str, prompt: str = "", beginning: Sequence[str] = ()
    ) -> None:
        try:
            import tokenizers
        except ModuleNotFoundError as error:
            raise MissingExtra("tokenizers", "huggingface", "reading a tokenizer.json") from error
        try:
            # Not from_buffer, which would read a pickle of the library as well.
            described = json.loads(content)
            self._tokenizer: Any = tokenizers.Tokenizer.from_str(content.decode())
        except Exception as error:  # the library raises plain Exception
            raise _damaged(name, "tokenizer.json", f" ({error})") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        self.vocab_size: int = max(self._tokenizer.get_vocab().values()) + 1
        super().__init__(prompt, beginning, name)
        self.special_ids = frozenset(
            added["id"] for added in described.get("added_tokens", ()) if added.get("special")
        )
        kinds = _kinds(described.get("decoder"))
        self._is_bytes, self._is_words = "ByteLevel" in kinds, "WordPiece" in kinds
        self._bytes = _bytes_of_letters() if self._is_bytes else {}

    def id_of(self, token: str) -> int | None:
        id: int | None = self._tokenizer.token_to_id(token)
        return id

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def token_strings(self, ids: Iterable[int]) -> list[str]:
        return [self._shown(int(id)) for id in ids]

    def _shown(self, id: int) -> str:
        token = self._tokenizer.id_to_token(id) or ""
        if id in self.special_ids:
            return str(token)
        if self._is_bytes:
            raw = bytes(self._bytes[letter] for letter in token if letter in self._bytes)
            return raw.decode(errors="replace").replace(" ", SPACE_MARK)
        if self._is_words and token.startswith("##"):
            return str(token[2:])
        return SPACE_MARK + token if self._is_words else str(token)


def _damaged(name: str, kind: str, why: str = "") -> ModelError:
    return ModelError(
        f"{name} must be a {kind}: it is damaged or something else{why}; import the model again"
    )


def _read_vocabulary(content: bytes, name: str) -> dict[str, int]:
    try:
        ids = json.loads(content)
    except ValueError:
        ids = None
    if not isinstance(ids, dict) or not ids or not all(isinstance(id, int) for id in ids.values()):
        raise ModelError(
            f"the vocabulary of {name} must be a JSON object of tokens and their numbers: it is not; "
            "import the model again"
        )
    return ids


def _kinds(part: Any) -> set[str]:
    """The types of a part of a tokenizer.json, which may be a sequence of parts."""
    if not isinstance(part, dict):
        return set()
    inner = [_kinds(each) for each in part.get("decoders", ())]
    return set().union({str(part.get("type"))}, *inner)


def _bytes_of_letters() -> dict[str, int]:
    """GPT-2's alphabet (Radford et al. 2019): a printable letter for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + place): byte for place, byte in enumerate(others)}
