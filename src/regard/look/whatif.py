"""What if? Each change a reader can ask for, as edits of the real pass and of the real search.

A change is what the page sends: a kind, and what it needs. Most kinds edit values (`regard.look.edits`);
replace-word changes the text, and force-next what the output begins with. The search runs under the same
edits as the pass that is shown, so the translation follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from regard.config import ModelConfig
from regard.errors import UsageError, suggest
from regard.look.edits import (
    Function,
    ValueEdit,
    attentions,
    edit_row,
    head_off,
    no_mask,
    no_positions,
)
from regard.look.subject import Subject, words

Change = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What a run does differently."""

    changes: tuple[Change, ...] = ()
    text: str | None = None
    """what is read instead"""
    prefix: tuple[int, ...] = ()
    """what the output begins with"""
    edits: tuple[ValueEdit, ...] = ()

    @property
    def sees_future(self) -> bool:
        return any(change["kind"] == "no-mask" for change in self.changes)

    def edits_at(self, first: int) -> dict[str, Function]:
        """All edits of one pass; where several meet at one name, the earlier change acts first."""
        merged: dict[str, Function] = {}
        for edit in self.edits:
            for name, function in edit(first).items():
                merged[name] = _then(merged[name], function) if name in merged else function
        return merged

    def check_lengths(self, source_len: int) -> None:
        """A row over the source must fit the source that is read."""
        for change in self.changes:
            if change["kind"] == "edit-row" and not _over_target(change["attention"]):
                if len(change["weights"]) != source_len:
                    raise UsageError(
                        f"weights must be one for each of the {source_len} source tokens: got "
                        f"{len(change['weights'])}; take the edit back before changing words"
                    )


def _over_target(attention: str) -> bool:
    return attention.startswith("decoder") and attention.endswith("self_attention")


def _then(first: Function, second: Function) -> Function:
    return lambda value: second(first(value))


KINDS = {
    "head-off": {"attention": str, "head": int},
    "no-positions": {},
    "no-mask": {},
    "replace-word": {"index": int, "text": str},
    "force-next": {"step": int, "text": str},
    "edit-row": {"attention": str, "head": int, "row": int, "weights": list},
}
"""for each kind of change, what it needs"""


def plan_of(
    changes: Sequence[Change],
    subject: Subject,
    given: str,
    read: str,
    output_before: Callable[[int], list[int]],
) -> Plan:
    """The changes, checked, as one plan.

    given, read: the sentence as it was given and as the model read it; words are counted in the second.
    output_before(n): the output under the first n changes.
    """
    text = given
    prefix: tuple[int, ...] = ()
    edits: list[ValueEdit] = []
    for change in changes:
        _check_fields(change)
    kinds = [change["kind"] for change in changes]
    for place, change in enumerate(changes):
        kind = change["kind"]
        if kind == "replace-word":
            span = _word_span(read, change["index"], subject)
            text = _replaced(text, _span_in(text, read, span), change["text"])
            read = _replaced(read, span, change["text"])
        elif kind == "force-next":
            # A later one begins with what this one led to.
            if "force-next" not in kinds[place + 1 :]:
                prefix = _forced(change, subject, output_before(place))
        else:
            edits.append(_value_edit(change, subject.config, "no-mask" in kinds))
    return Plan(tuple(changes), text if text != given else None, prefix, tuple(edits))


def _value_edit(change: Change, config: ModelConfig, unmasked: bool) -> ValueEdit:
    if change["kind"] == "no-positions":
        if config.position == "none":
            raise UsageError("no-positions needs a model with positions: this one has none")
        return no_positions(config)
    if change["kind"] == "no-mask":
        if config.is_recurrent:
            missing = "this one reads what is written alone"
            raise UsageError(f"no-mask needs a model with a mask: {missing}")
        return no_mask(config)
    known, attention, head = attentions(config), change["attention"], change["head"]
    if not known:
        fixed = "it has one fixed vector; change words instead"
        raise UsageError(f"this model looks at nothing: {fixed}")
    if attention not in known:
        raise UsageError(
            f"attention must be one of {known[0]} ... {known[-1]}: got {attention!r}"
            f"{suggest(attention, known)}"
        )
    num_heads = 1 if config.is_recurrent else config.num_heads
    if not 0 <= head < num_heads:
        raise UsageError(f"head must be from 0 to {num_heads - 1}: got {head}")
    if change["kind"] == "head-off":
        return head_off(attention, head)
    row, weights = change["row"], change["weights"]
    are_numbers = all(isinstance(e, int | float) and not isinstance(e, bool) for e in weights)
    if not are_numbers or not all(0 <= each < math.inf for each in weights):
        raise UsageError("weights must be numbers from 0 up: got something else; correct the row")
    if row < 0:
        raise UsageError(f"row must be a word's place, from 0: got {row}")
    if _over_target(attention) and not unmasked and any(weights[row + 1 :]):
        raise UsageError(
            f"weights of row {row} must be 0 for the words after it, which are hidden: got others; "
            "remove the mask first"
        )
    return edit_row(attention, head, row, [float(each) for each in weights])


def _check_fields(change: Any) -> None:
    if not isinstance(change, Mapping) or not isinstance(change.get("kind"), str):
        raise UsageError(f"a change must be an object with a kind: got {change!r}")
    if change["kind"] not in KINDS:
        raise UsageError(
            f"kind must be one of {', '.join(KINDS)}: got {change['kind']!r}"
            f"{suggest(change['kind'], KINDS)}"
        )
    for name, kind in KINDS[change["kind"]].items():
        value = change.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageError(f"{change['kind']}: {name} must be {kind.__name__}: got {value!r}")


def _word_span(text: str, index: int, subject: Subject) -> tuple[int, int]:
    """The characters of a word, which is counted as the page shows it."""
    side = "source" if subject.config.has_encoder else "target"
    tokenizer = subject.tokenizer(side)
    # A decoder-only model's first word is the beginning.
    start = len(tokenizer.beginning) if side == "source" else 1
    ids = tokenizer.encode(text)
    spans = words(ids, tokenizer.token_strings(ids), tokenizer.special_ids)
    if not 0 <= index - start < len(spans):
        raise UsageError(
            f"index must be a word's, from {start} to {start + len(spans) - 1}: got {index}"
        )
    first, last = spans[index - start]
    places = tokenizer.spans_in(text)
    begin, end = places[first][0], places[last][1]
    return end - len(text[begin:end].lstrip()), end


def _span_in(given: str, read: str, span: tuple[int, int]) -> tuple[int, int]:
    """The characters of the given text that became these of the text that was read."""
    if given == read:
        return span
    # Words in capitals are read in small letters.
    matcher = SequenceMatcher(None, read.lower(), given.lower(), autojunk=False)
    blocks = matcher.get_matching_blocks()

    def moved(place: int) -> int:
        # The empty block at the end is always found.
        block = next(each for each in blocks if place <= each.a + each.size)
        return block.b + max(place - block.a, 0)

    return moved(span[0]), moved(span[1])


def _replaced(text: str, span: tuple[int, int], replacement: str) -> str:
    if not replacement.strip():
        raise UsageError("a word must have letters: got an empty one; type another")
    return text[: span[0]] + replacement.strip() + text[span[1] :]


def _forced(change: Change, subject: Subject, output: list[int]) -> tuple[int, ...]:
    """The prefix of the output when a word is forced at a step: a text, or one token by its number."""
    step = change["step"]
    if not 0 <= step <= len(output):
        raise UsageError(f"step must be from 0 to {len(output)}: got {step}")
    token = change.get("token")
    if token is None:
        tokens = subject.target.encode(change["text"].strip())
    elif token in range(subject.target.vocab_size) and token not in subject.target.special_ids:
        tokens = [token]
    else:
        raise UsageError(f"token must be an ordinary token of the vocabulary: got {token!r}")
    if not tokens:
        raise UsageError("a word to force must have letters: got an empty one; type another")
    return (*output[:step], *tokens)
