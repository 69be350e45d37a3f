"""Text to token ids and back, exactly: SentencePiece without any normalisation.

`decode(encode(text)) == text` for every Unicode string, with two things done to make it so:

- SentencePiece writes a space as U+2581 inside its tokens, so that character in a text is escaped (a
  private-use character and a digit stand for it) and comes back on decoding.
- A lone surrogate is not a character and has no UTF-8; it becomes U+FFFD.

Characters that the vocabulary lacks become their UTF-8 bytes (byte fallback), so no text gives the unknown id or any
other special id: `<s>` in a text is three characters. A word has the same tokens at the start of a sentence as inside
it: the model file tells SentencePiece, and other programs that read it, to add a space in front and take it away again.
"""

from __future__ import annotations

import functools
import io
import itertools
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regard.errors import DataError, ModelError, UsageError
from regard.files import write_file
from regard.text import Span

if TYPE_CHECKING:
    from regard.text.ragged import Ragged
    from regard.text.sampling import Sampler

Segmentation = Literal["bpe", "unigram"]

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
SPACE_MARK = "\u2581"  # a space in a token
SURROGATE = re.compile("[\ud800-\udfff]")

_ESCAPE = "\U000f2581"
_ESCAPES = {_ESCAPE: _ESCAPE + "0", SPACE_MARK: _ESCAPE + "1"}
_TO_ESCAPE = re.compile(f"[{_ESCAPE}{SPACE_MARK}\ud800-\udfff]")
_ESCAPED = re.compile(f"{_ESCAPE}[01]")

# Characters that get a token of their own if the text holds them, however rare: as bytes they would be lost in translation.
_WANTED_IF_MET = frozenset(
    "".join(map(chr, range(ord("!"), ord("~") + 1)))
    + "\u00a3\u20ac\u00ab\u00bb\u2018\u2019\u201c\u201d\u2026\u2013\u2014\u00b0\u00a7\u00bd\u00d7"
    + "àâæçéèêëîïôœùûüÿÀÂÆÇÉÈÊËÎÏÔŒÙÛÜŸ"
)
# Characters that the trainer reserves: it skips every sentence that holds one.
_RESERVED_BY_TRAINER = str.maketrans({"\t": " ", "\u2585": " ", "\0": " "})
# The unigram trainer adds floats per thread, so another number would be another vocabulary.
_NUM_TRAINING_THREADS = 8
_LONGEST_SENTENCE = 20_000  # maximum bytes of a line that the trainer reads


def default_vocabulary(num_pairs: int) -> int:
    """The usual vocabulary size for a corpus of so many pairs."""
    sizes = ((2_000_000, 32000), (200_000, 16000), (20_000, 8000), (4000, 4000))
    return next((size for at_least, size in sizes if num_pairs >= at_least), 1000)


class TokenizerBase(ABC):
    """A vocabulary and a segmentation, ours or another program's."""

    vocab_size: int
    special_ids: frozenset[int]  # ids without text: beginning, end, padding, unknown
    beginning: Sequence[int] = ()  # ids before every text that the model reads or writes
    prompt = ""  # text before every text that the model reads
    pad_id, bos_id, eos_id = PAD_ID, BOS_ID, EOS_ID  # padding, and what the model reads first and writes last

    @abstractmethod
    def id_of(self, token: str) -> int | None:
        """The id of a token as its vocabulary spells it, or None if it lacks it."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without beginning and end."""

    @abstractmethod
    def encode_around(self, parts: Sequence[str], sign: int) -> list[int]:
        """The ids of a text with a sign, such as that of a blank, between its parts."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; special ids have none."""

    @abstractmethod
    def token_strings(self, ids: Iterable[int]) -> list[str]:
        """Each id for showing, U+2581 for a space."""

    def encode_batch(self, texts: Sequence[str], *, num_threads: int = 1) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def encode_inputs(self, texts: Sequence[str], *, num_threads: int = 1) -> list[list[int]]:
        """The ids of texts with what comes before every text."""
        found, before = self.encode_batch(texts, num_threads=num_threads), self.beginning
        return [[*before, *ids] for ids in found] if before else found

    def decode_batch(self, several: Sequence[Sequence[int]]) -> list[str]:
        return [self.decode(ids) for ids in several]

    def spans(self, ids: Sequence[int]) -> list[Span]:
        """Where each token stands in the decoded text; a character of several tokens belongs to the last."""
        ends = [len(self.decode(ids[: count + 1])) for count in range(len(ids))]
        # Incomplete bytes of a character decode to replacement characters until its last byte has come.
        for place in range(len(ends) - 2, -1, -1):
            ends[place] = min(ends[place], ends[place + 1])
        return list(zip([0, *ends], ends, strict=False))

    def spans_in(self, text: str) -> list[Span]:
        """Where each token of `encode(text)` stands in the text."""
        before = len(self.prompt)
        return [(max(start - before, 0), max(end - before, 0)) for start, end in self.spans(self.encode(text))]


Ends = TokenizerBase | type[TokenizerBase]
"""what has the ids of padding, beginning and end; the class has those of regard's own vocabularies"""


def read_sentencepiece(proto: bytes, name: str) -> Any:
    """The processor of a SentencePiece model file."""
    import sentencepiece

    try:
        processor: Any = sentencepiece.SentencePieceProcessor(model_proto=proto or b"\xff")
        processor.id_to_piece(list(range(processor.vocab_size())))  # each must be text
    except (RuntimeError, OSError, ValueError) as error:
        raise ModelError(f"{name} must be a SentencePiece model: it is damaged; restore the file") from error
    return processor


class Tokenizer(TokenizerBase):
    """A trained SentencePiece model."""

    def __init__(self, proto: bytes, name: str = "the tokenizer") -> None:
        """`proto` is the content of a model file; `name` is what errors call it."""
        self.proto = proto
        self._processor = read_sentencepiece(proto, name)
        self.vocab_size = self._processor.vocab_size()
        special = [getattr(self._processor, f"{each}_id")() for each in ("pad", "unk", "bos", "eos")]
        if special != [PAD_ID, UNK_ID, BOS_ID, EOS_ID]:
            raise ModelError(f"{name} must have pad, unk, bos, eos = 0 to 3: got {special}; use one trained by regard")
        control = self._processor.is_control(list(range(self.vocab_size)))
        self.special_ids = frozenset([UNK_ID, *itertools.compress(itertools.count(), control)])

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        *,
        vocabulary: int,
        kind: Segmentation = "bpe",
        seed: int = 1,
        exact: bool = True,
        max_sentences: int = 1_000_000,
        signs: Sequence[str] = (),
    ) -> Tokenizer:
        """Learn tokens from raw text; the same text and seed give the same tokens.

        With exact=False a vocabulary size that the text cannot give becomes the nearest it can. Of more than
        `max_sentences` a sample is drawn. `signs` are tokens for no text, such as [MASK].
        """
        sample = _sample(_trainable(sentences), max_sentences, seed)
        if not sample:
            raise DataError("a tokenizer needs text to learn from: got only empty lines; give other files")
        return cls(_train(sample, vocabulary, kind, exact, signs))

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        try:
            return cls(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise ModelError(f"{path} must be a tokenizer file: {error.strerror}; give another") from error

    def save(self, path: Path | str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_file(Path(path), self.proto)

    def encode(self, text: str) -> list[int]:
        return list(self._processor.encode(_escape(self.prompt + text)))

    def encode_batch(self, texts: Sequence[str], *, num_threads: int = 1) -> list[list[int]]:
        escaped = [_escape(self.prompt + text) for text in texts]
        return list(self._processor.encode(escaped, num_threads=num_threads))

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> Ragged:
        """A random segmentation of each text (see `regard.text.sampling`), the same for the same seed."""
        return self._sampler.sample([_escape(text) for text in texts], alpha, seed)

    @functools.cached_property
    def _sampler(self) -> Sampler:
        from regard.text.sampling import Sampler

        return Sampler(self._processor)

    def encode_around(self, parts: Sequence[str], sign: int) -> list[int]:
        """The ids of a text with a sign, such as a blank, between its parts; a sign replaces the space before it too."""
        ids = self.encode(parts[0].removesuffix(" "))
        for number, part in enumerate(parts[1:], start=1):
            text = part if number == len(parts) - 1 else part.removesuffix(" ")
            # After a line end SentencePiece adds no space, as it would at the beginning of a text.
            ids += [sign, *self._processor.encode(_escape(f"\n{text}"))[2:]]
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        return _unescape(self._processor.decode(self._shown(ids)))

    def decode_batch(self, several: Sequence[Sequence[int]]) -> list[str]:
        shown = list(map(self._shown, several))
        return list(map(_unescape, self._processor.decode(shown, num_threads=1))) if shown else []

    def _shown(self, ids: Iterable[int]) -> list[int]:
        special = self.special_ids
        return [int(id) for id in ids if id not in special]

    @functools.cached_property
    def _tokens(self) -> list[str]:
        return list(self._processor.id_to_piece(list(range(self.vocab_size))))

    def token_strings(self, ids: Iterable[int]) -> list[str]:
        return [self._tokens[id] for id in ids]

    def id_of(self, token: str) -> int | None:
        id = int(self._processor.piece_to_id(token))
        return None if id == UNK_ID else id


def _escape(text: str) -> str:
    return text if text.isascii() else _TO_ESCAPE.sub(lambda match: _ESCAPES.get(match[0], "\ufffd"), text)


def _unescape(text: str) -> str:
    if _ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda match: SPACE_MARK if match[0].endswith("1") else _ESCAPE, text)


def _trainable(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        for line in sentence.split("\n"):
            line = _escape(line).translate(_RESERVED_BY_TRAINER)
            if line.strip(" "):
                yield line


def _sample(lines: Iterator[str], size: int, seed: int) -> list[str]:
    """At most `size` lines, each with the same chance (reservoir sampling)."""
    sample = list(itertools.islice(lines, size))
    generator = random.Random(seed)
    for count, line in enumerate(lines, start=size + 1):
        if (slot := int(generator.random() * count)) < size:
            sample[slot] = line
    return sample


def _train(sample: list[str], vocabulary: int, kind: Segmentation, exact: bool, signs: Sequence[str]) -> bytes:
    import sentencepiece

    model = io.BytesIO()
    # The trainer passes over longer lines, and stops the process at a required character that it has not met.
    met = set[str]().union(*(line for line in sample if len(line.encode()) <= _LONGEST_SENTENCE))
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=model,
            model_type=kind,
            vocab_size=vocabulary,
            hard_vocab_limit=exact,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=True,
            byte_fallback=True,
            # Numbers are copied digit by digit, also those never seen.
            split_digits=True,
            character_coverage=0.9999,
            required_chars="".join(sorted(_WANTED_IF_MET & met)),
            max_sentence_length=_LONGEST_SENTENCE,
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            control_symbols=list(signs),
            num_threads=_NUM_TRAINING_THREADS,
            minloglevel=2,
        )
    except RuntimeError as error:
        if too_small := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
            least = int(too_small.group(1))
            if not exact:
                return _train(sample, least + vocabulary, kind, exact, signs)
            wanted = f"at least {least} for every byte and letter of the text"
        elif too_large := re.search(r"Vocabulary size too high .* <= (\d+)", str(error)):
            wanted = f"at most {too_large.group(1)} for so little text"
        else:
            raise DataError(f"SentencePiece cannot learn from the text: {error}") from error
        raise UsageError(f"vocabulary must be {wanted}: got {vocabulary}; change it or leave it out") from error
    return model.getvalue()
