"""Tokenizers of models that other programs trained.

`VocabularyTokenizer` is SentencePiece with its own numbering of tokens in a JSON file (Marian, T5). `JsonTokenizer` is what
a tokenizer.json describes (GPT-2's bytes, BERT's WordPiece), read by the package tokenizers. A text need not come back
as it was: some of them lower its case.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from regard.errors import MissingExtra, ModelError
from regard.text.tokenizer import SPACE_MARK, SURROGATE, TokenizerBase, read_sentencepiece

_LANGUAGE = re.compile("(>>[^<> ]+<<) ?")
_ANY_TEXT = "It's 1 naïve 漢字 \U0001f642 \U000f1234\n"
"""what every tokenizer must read without an error, with letters that it lacks"""
_SPECIAL = re.compile(f"<unk>|</?s>|<pad>|{_LANGUAGE.pattern}")


class _ImportedTokenizer(TokenizerBase):
    """The base of both; `prompt` is put before every text, and the tokens `beginning` before that."""

    def __init__(self, prompt: str, beginning: Sequence[str], name: str) -> None:
        self.prompt = prompt
        self.beginning = [id for id in map(self.id_of, beginning) if id is not None]
        if len(self.beginning) < len(beginning):
            raise ModelError(f"{name} must have {' and '.join(beginning)} of config.json: it has not; import it again")

    @abstractmethod
    def _encode(self, text: str) -> list[int]:
        """The ids of a text without the prompt."""

    def _encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._encode(text) for text in texts]

    @abstractmethod
    def _decode(self, ids: list[int]) -> str:
        """The text of ids none of which is special."""

    def encode(self, text: str) -> list[int]:
        return self._encode(SURROGATE.sub("\ufffd", self.prompt + text))

    def encode_batch(self, texts: Sequence[str], *, num_threads: int = 1) -> list[list[int]]:
        return self._encode_batch([SURROGATE.sub("\ufffd", self.prompt + text) for text in texts])

    def encode_around(self, parts: Sequence[str], sign: int) -> list[int]:
        ids = self.encode(parts[0])
        for part in parts[1:]:
            ids += [sign, *self._encode(SURROGATE.sub("\ufffd", part))]
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        return self._decode([int(id) for id in ids if id not in self.special_ids])


class VocabularyTokenizer(_ImportedTokenizer):
    """SentencePiece with the ids of a JSON file.

    A language such as >>fra<< at the beginning of a text is one token if the vocabulary holds it: it tells a
    multilingual model which language to write.
    """

    def __init__(
        self, proto: bytes, vocabulary: bytes, *, name: str, prompt: str = "", beginning: Sequence[str] = ()
    ) -> None:
        self._processor = read_sentencepiece(proto, name)
        try:
            self._ids: dict[str, int] = json.loads(vocabulary)
            self._tokens = {id: token for token, id in self._ids.items()}
            self.vocab_size = max(self._tokens) + 1
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(
                f"the vocabulary of {name} must be a JSON object of tokens: it is not; import it again"
            ) from error
        super().__init__(prompt, beginning, name)
        self._unknown = self._ids.get("<unk>", 0)
        pieces = self._processor.id_to_piece(list(range(self._processor.vocab_size())))
        self._numbers = [self._ids.get(piece, self._unknown) for piece in pieces]
        """the id of each token of SentencePiece"""
        self.special_ids = frozenset(id for token, id in self._ids.items() if _SPECIAL.fullmatch(token))

    def id_of(self, token: str) -> int | None:
        return self._ids.get(token)

    def _encode(self, text: str) -> list[int]:
        first: list[int] = []
        language = _LANGUAGE.match(text)
        if language and language.group(1) in self._ids:
            first, text = [self._ids[language.group(1)]], text[language.end() :]
        tokens: list[str] = self._processor.encode(text, out_type=str)
        return first + [self._ids.get(token, self._unknown) for token in tokens]

    def _encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        plain = [text for text in texts if not _LANGUAGE.match(text)]
        unknown, numbers = self._processor.unk_id(), self._numbers
        found = iter(self._processor.encode(plain, num_threads=1) if plain else ())
        # All tokens that SentencePiece does not know have one id: only their text tells them apart.
        return [
            self._encode(text)
            if _LANGUAGE.match(text) or unknown in (ids := next(found))
            else [numbers[id] for id in ids]
            for text in texts
        ]

    def _decode(self, ids: list[int]) -> str:
        return _plain(self._processor.decode_pieces(self.token_strings(ids)))

    def decode_batch(self, several: Sequence[Sequence[int]]) -> list[str]:
        special = self.special_ids
        # An empty list does not tell SentencePiece that it is one of tokens.
        tokens = [
            self.token_strings(ids if special.isdisjoint(ids) else [id for id in ids if id not in special]) or [""]
            for ids in several
        ]
        return list(map(_plain, self._processor.decode_pieces(tokens, num_threads=1))) if tokens else []

    def token_strings(self, ids: Iterable[int]) -> list[str]:
        return [self._tokens.get(id, "") for id in ids]


def _plain(text: str) -> str:
    return text.replace(SPACE_MARK, " ").strip()


@contextmanager
def _damage_reported(name: str) -> Iterator[None]:
    """The library raises plain Exception, and BaseException where it panics: a pattern that would never end is one."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, ModelError)):
            raise
        told = " ".join(str(error).split())[:200]
        raise ModelError(f"{name} must be a tokenizer.json: it is damaged ({told}); import it again") from error


class JsonTokenizer(_ImportedTokenizer):
    """A tokenizer.json; special tokens are never read from a text."""

    def __init__(self, content: bytes, *, name: str, prompt: str = "", beginning: Sequence[str] = ()) -> None:
        try:
            import tokenizers
        except ModuleNotFoundError as error:
            raise MissingExtra("tokenizers", "huggingface", "reading a tokenizer.json") from error
        self._name = name
        with _damage_reported(name):
            # Not from_buffer, which would read a pickle of the library as well.
            described = json.loads(content)
            self._tokenizer: Any = tokenizers.Tokenizer.from_str(content.decode())
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._tokenizer.encode_special_tokens = True
            self.ids = frozenset(self._tokenizer.get_vocab().values())
            self.vocab_size: int = max(self.ids) + 1
            added = described.get("added_tokens") or ()
            self.special_ids = frozenset(each["id"] for each in added if each.get("special"))
            decoder = json.dumps(described.get("decoder"))
            self._is_bytes, self._is_words = '"ByteLevel"' in decoder, '"WordPiece"' in decoder
            self.token_strings(self._encode(_ANY_TEXT))
            self._decode(sorted(self.ids)[:1000])
        super().__init__(prompt, beginning, name)

    def id_of(self, token: str) -> int | None:
        return self._tokenizer.token_to_id(token)

    def _encode(self, text: str) -> list[int]:
        with _damage_reported(self._name):
            return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        with _damage_reported(self._name):
            return [list(each.ids) for each in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def _decode(self, ids: list[int]) -> str:
        with _damage_reported(self._name):
            return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def token_strings(self, ids: Iterable[int]) -> list[str]:
        return [self._shown(int(id)) for id in ids]

    def _shown(self, id: int) -> str:
        token: str = self._tokenizer.id_to_token(id) or ""
        if id in self.special_ids:
            return token
        if self._is_bytes:
            # GPT-2 writes each byte as a printable letter (Radford et al. 2019).
            return str(self._tokenizer.decoder.decode([token])).replace(" ", SPACE_MARK)
        if self._is_words:
            return token[2:] if token.startswith("##") else SPACE_MARK + token
        return token
