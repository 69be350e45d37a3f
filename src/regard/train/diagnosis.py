"""What may be wrong with a run, in one sentence, from what the trainer has measured itself.

Each sign is a number that anybody can check in metrics.jsonl or in the text; the sentence says which number it was, what it
is likely to mean, and what to do. A run that does well gets none.
"""

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median_high

from regard.config import TrainConfig
from regard.data.running_text import RunningText
from regard.text.tokenizer import TokenizerBase
from regard.train.corpora import Text, Tokenizers

_TOLD = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))  # by cause
MAX_TOKENS_A_WORD = 3.0
"""Mean tokens of a word above which the vocabulary is too small; a usual one has 1.1 to 1.8."""
NUM_WORDS_MEASURED = 5000
RISEN = 1.05
"""Validation loss as a multiple of the best, from which on it counts as risen."""
NUM_RISEN = 2  # Validations in a row that must have risen.
JUMP = 1.5  # Training loss as a multiple of the lowest before it, at which the rate counts as too high.
WINDOW = 10  # Readings of the training loss whose median is compared.
STILL = 0.01  # Relative change of the validation loss below which a run stands still.
LATE = 0.7  # Share of a run before which a loss may stand still: many tasks are learnt late.
MIN_GAIN = 0.02  # Share of the validation loss by which the right sources must be better than exchanged ones.
_WORD = re.compile(r"[^\W\d_\u0e00-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff]+")
"""a word of a script with spaces between words: not Thai, Lao, Tibetan, Burmese, Khmer, Chinese or Japanese"""


@dataclass(frozen=True)
class Signs:
    """What is known after a validation."""

    train: Sequence[float | None]  # plain loss of each reading, in order; None where it was no number
    valid: Sequence[float]
    done: float
    """share of the run"""
    guessing: float  # loss of a uniform guess
    exchanged: float | None = None
    """validation loss with each source replaced by another's; None where it was not measured"""


def diagnose(signs: Signs, settings: TrainConfig) -> tuple[str, str] | None:
    """The likely cause, by name and in a sentence; the graver first."""
    rate, valid = settings.learning_rate or 0.0, signs.valid
    newest = signs.train[-WINDOW:]
    if sum(value is None for value in newest) > len(newest) / 2:  # the guard skips one now and then
        return "nan", _TOLD["nan"].format(rate=rate)
    known = [value for value in signs.train if value is not None]
    medians = [_median(known[i : i + WINDOW]) for i in range(0, len(known) - WINDOW + 1, WINDOW)]
    lowest, latest, best = min(medians[:-1], default=math.inf), _median(known[-WINDOW:]), min(valid)
    jumped = valid[-1] > JUMP * best and latest > best
    if jumped or latest > max(JUMP * lowest, lowest + 0.5):
        low, high, kind = (best, valid[-1], "validation") if jumped else (lowest, latest, "training")
        return "rate", _TOLD["rate"].format(kind=kind, low=low, high=high, rate=rate)
    if len(valid) > NUM_RISEN and all(loss > RISEN * best for loss in valid[-NUM_RISEN:]) and latest < best:
        return "overfitting", _TOLD["overfitting"].format(best=best, loss=valid[-1], latest=latest)
    if signs.done < LATE:
        return None
    if signs.exchanged is not None and signs.exchanged - valid[-1] < MIN_GAIN * valid[-1]:
        return "misaligned", _TOLD["misaligned"].format(loss=valid[-1], exchanged=signs.exchanged)
    if len(valid) > 2 and abs(valid[-1] - valid[-3]) < STILL * valid[-1] and valid[-1] > 0.5 * signs.guessing:
        return "plateau", _TOLD["plateau"].format(loss=valid[-1], guessing=signs.guessing, rate=rate)
    return None


def vocabulary_too_small(tokenizers: Tokenizers, corpus: Text) -> tuple[str, str] | None:
    """Whether usual words are cut into many tokens; numbers and signs are not counted."""
    sides = [corpus.lines()] if isinstance(corpus, RunningText) else [corpus.sources, corpus.targets]
    for tokenizer, lines in zip((tokenizers[-1:] if len(sides) == 1 else tokenizers), sides, strict=True):
        mean = tokens_a_word(tokenizer, list(islice(lines, NUM_WORDS_MEASURED)))
        if mean > MAX_TOKENS_A_WORD:
            return "vocabulary", _TOLD["vocabulary"].format(mean=mean, size=tokenizer.vocab_size)
    return None


def tokens_a_word(tokenizer: TokenizerBase, lines: Sequence[str]) -> float:
    words = list(islice((word for line in lines for word in _WORD.findall(line)), NUM_WORDS_MEASURED))
    return sum(map(len, tokenizer.encode_batch(words))) / max(1, len(words))


def _median(values: Sequence[float]) -> float:
    return median_high(values) if values else math.nan
