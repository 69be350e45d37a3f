"""The way of a text through a model, read downwards.

    split into sentences -> for each: normalise -> protect -> tokenize -> search -> detokenize -> restore -> join

Every command that translates uses `Translator.translate`, and a trace shows the same search.
"""

import functools
import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from regard.config import DecodeConfig, ModelConfig
from regard.data.batches import batches_for_inference
from regard.decode import EnsembleModel, StepModel, StepRecord, score
from regard.errors import ModelError, RegardWarning, UsageError
from regard.folder.manifest import Manifest
from regard.text.normalise import Normaliser
from regard.text.sentences import SplitText, split
from regard.text.tokenizer import TokenizerBase
from regard.text.words import Spellings
from regard.translate.search import DEFAULT_OPTIONS, TranslateOptions, batch_tokens
from regard.translate.sentence import SentenceTranslator
from regard.translate.translation import Translation, copied, join, messages


class Translator:
    """An engine and the two tokenizers of one model."""

    def __init__(self, engine: StepModel, manifest: Manifest, source: TokenizerBase, target: TokenizerBase) -> None:
        self.engine = engine
        self.manifest = manifest
        self.source, self.target = source, target
        self.history: list[StepRecord] | None = None
        """list for the steps of the latest search, which for a text of one sentence is the search of its output"""

    def joined(self, others: Sequence["Translator"]) -> "Translator":
        """An ensemble with others, which must have the same languages and tokens."""
        if any(each._vocabulary != self._vocabulary for each in others):
            told = "models of an ensemble must share their task, languages and vocabulary: got different ones"
            raise UsageError(f"{told}; name models that were trained with one tokenizer")
        members = [self, *others]
        manifest = replace(self.manifest, longest=min(each.longest for each in members))
        engine = EnsembleModel([each.engine for each in members]) if others else self.engine
        return Translator(engine, manifest, self.source, self.target)

    @property
    def _vocabulary(self) -> tuple[object, ...]:
        """All that two models must share to write together."""
        config, sides = self.config, (self.source, self.target)
        tokens = [[*each.beginning, *each.token_strings(range(each.vocab_size))] for each in sides]
        ids = config.pad_id, config.bos_id, config.eos_id, config.target_vocab_size
        return self.manifest.task, self.manifest.languages, tokens, ids

    @property
    def config(self) -> ModelConfig:
        return self.manifest.model

    @property
    def longest(self) -> int:
        """Tokens of the longest sentence that the model reads at once."""
        if self.config.position == "learned":
            return min(self.manifest.longest, self.config.max_positions - 1)
        return self.manifest.longest

    @functools.cached_property
    def normaliser(self) -> Normaliser:
        return Normaliser(self.manifest.source_language, self.source)

    @functools.cached_property
    def spellings(self) -> Spellings:
        return Spellings(self.target)

    def translate(
        self,
        texts: Sequence[str],
        decode: DecodeConfig,
        options: TranslateOptions = DEFAULT_OPTIONS,
        *,
        where: Callable[[int], str] | None = None,
    ) -> list[Translation]:
        """One translation for each text; `where` names a text in warnings by its place."""
        parts = [self.split(text, options) for text in texts]
        if options.single_sentence and any(len(each.sentences) > 1 for each in parts):
            raise UsageError(
                f"a text with a prefix or required words must be one sentence of at most {self.longest} "
                "tokens: got a longer one; shorten it or leave them out"
            )
        placed = ((each, place, sentence) for each in parts for place, sentence in enumerate(each.sentences))
        numbered = zip(itertools.count(), placed, strict=False)
        given = [(number, sentence) for number, (each, place, sentence) in numbered if place not in each.too_long]
        found = iter(SentenceTranslator(self, decode, options).translate(given))
        results = []
        for text, each in zip(texts, parts, strict=True):
            sentences = [
                copied(sentence, flags=["copied"]) if place in each.too_long else next(found)
                for place, sentence in enumerate(each.sentences)
            ]
            results.append(join(text, each, sentences))
        for message in messages(results, sum(each.num_cut for each in parts), self.longest, where):
            self._warn(message)
        return results

    def _warn(self, message: str) -> None:
        """Tell the caller of Model.translate; a server has nobody to tell."""
        warnings.warn(message, RegardWarning, stacklevel=4)

    def split(self, text: str, options: TranslateOptions = DEFAULT_OPTIONS) -> SplitText:
        """The sentences of a text, and what stands between them untranslated."""
        is_split, language = options.split and not options.single_sentence, self.manifest.source_language
        return split(text, language, self._tokens_at_most, self.longest, sentences=is_split)

    def _tokens_at_most(self, sentence: str) -> int:
        """The number of tokens, or an upper bound of it that the model can read too."""
        most = len(sentence.encode(errors="replace")) * 2 + 2
        return most if most <= self.longest else self.num_tokens(sentence)

    def num_tokens(self, sentence: str) -> int:
        return len(self.source.encode(self.normaliser(sentence)))

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[float]]:
        """The log-probability of each token of each target, its end last."""
        ids = [self.source_ids(source) for source in sources]
        outputs = [[*self.target.beginning, *output] for output in self.target.encode_batch(targets)]
        longer_sides = [max(pair, key=len) for pair in zip(ids, outputs, strict=True)]
        results: dict[int, list[float]] = {}
        for group in batches_for_inference(longer_sides, batch_tokens(self.engine)):
            scored = score(self.engine, [ids[i] for i in group], [outputs[i] for i in group])
            results.update(zip(group, scored, strict=True))
        return [results[i] for i in range(len(ids))]

    def source_ids(self, text: str, plain: bool = False) -> list[int]:
        """What the encoder reads of a text; a blank to fill is one token. plain: the text is not normalised."""
        if self.config.has_decoder and not plain:
            text = self.normaliser(text)
        blank = self.manifest.tokenizer.mask
        parts = text.split(blank) if blank else [text]
        ids = self.source.encode(text)
        if len(parts) > 1:
            sign = self.source.id_of(blank)
            if sign is None:
                wanted = f"the tokenizer must have the token {blank}"
                raise ModelError(f"{wanted}: it has not; get it again")
            ids = self.source.encode_around(parts, sign)
        return [*self.source.beginning, *ids, self.config.eos_id]
