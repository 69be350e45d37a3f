"""What if? Each change a reader can ask for, as edits of the real pass and of the real search.

A change is what the page sends: a kind, and what it needs. Most kinds edit values at their trace names; replace-word changes
the text, force-next what the output begins with, and search how the output is searched. The search runs under the same edits
as the pass that is shown, so the translation follows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.errors import UsageError, suggest
from regard.look.derivation import sub_layers
from regard.look.subject import Subject, words
from regard.model.position import Rotation, rotate, scheme_of
from regard.trace import cross_attentions

Change = Mapping[str, Any]
Function = Callable[[Tensor], Tensor]
ValueEdit = Callable[[int], dict[str, Function]]
"""the functions by trace name, for a pass whose first target word stands at the given position"""

KINDS: dict[str, dict[str, type]] = {
    "head-off": {"attention": str, "head": int},
    "no-positions": {},
    "no-mask": {},
    "replace-word": {"index": int, "text": str},
    "force-next": {"step": int, "text": str},
    "edit-row": {"attention": str, "head": int, "row": int, "weights": list},
    "search": {"settings": dict},
}
"""for each kind of change, what it needs"""


@dataclass(frozen=True)
class EditPlan:
    """What a run does differently."""

    changes: tuple[Change, ...] = ()
    text: str | None = None  # what is read instead
    prefix: tuple[int, ...] = ()  # what the output begins with
    edits: tuple[ValueEdit, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the search, in place of the session's

    @property
    def sees_future(self) -> bool:
        return any(change["kind"] == "no-mask" for change in self.changes)

    def edits_at(self, first: int) -> dict[str, Function]:
        """All edits of one pass; where several meet at one name, the earlier change acts first."""
        merged: dict[str, Function] = {}
        for name, function in (pair for edit in self.edits for pair in edit(first).items()):
            merged[name] = _then(merged[name], function) if name in merged else function
        return merged

    def check_lengths(self, source_len: int) -> None:
        """A row over the source must fit the source that is read."""
        edits = [change for change in self.changes if change["kind"] == "edit-row"]
        for count in [len(edit["weights"]) for edit in edits if not _over_target(edit["attention"])]:
            wanted = f"weights must be one for each of the {source_len} source tokens"
            _require(count == source_len, f"{wanted}: got {count}; take the edit back before changing words")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise UsageError(message)


def _over_target(attention: str) -> bool:
    return attention.startswith("decoder") and attention.endswith("self_attention")


def _then(first: Function, second: Function) -> Function:
    return lambda value: second(first(value))


def plan_of(
    changes: Sequence[Change], subject: Subject, given: str, read: str, output_before: Callable[[int], list[int]]
) -> EditPlan:
    """The changes, checked, as one plan.

    given, read: the sentence as it was given and as the model read it; words are counted in the second.
    output_before(n): the output under the first n changes.
    """
    text = given
    prefix: tuple[int, ...] = ()
    edits: list[ValueEdit] = []
    settings: dict[str, Any] = {}
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
        elif kind == "search":
            _require(subject.config.has_decoder, "search needs a model that writes: this one has no decoder")
            settings |= change["settings"]
        elif kind == "no-positions":
            edits.append(_no_positions(subject.config))
        elif kind == "no-mask":
            edits.append(_no_mask(subject.config))
        else:
            edits.append(_head_edit(change, subject.config, "no-mask" in kinds))
    return EditPlan(tuple(changes), text if text != given else None, prefix, tuple(edits), settings)


def _check_fields(change: Any) -> None:
    is_change = isinstance(change, Mapping) and isinstance(change.get("kind"), str)
    _require(is_change, f"a change must be an object with a kind: got {change!r}")
    kind = change["kind"]
    known = f"kind must be one of {', '.join(KINDS)}"
    _require(kind in KINDS, f"{known}: got {kind!r}{suggest(kind, KINDS)}")
    for name, wanted in KINDS[kind].items():
        value = change.get(name)
        fits = isinstance(value, wanted) and not isinstance(value, bool)
        _require(fits, f"{kind}: {name} must be {wanted.__name__}: got {value!r}")


def attentions(config: ModelConfig) -> list[str]:
    """The path of every attention, from the first that is computed to the last."""
    if config.is_recurrent:
        return cross_attentions(config)
    parts = [*sub_layers(config, "encoder"), *sub_layers(config, "decoder")]
    return [part for part in parts if part.endswith("attention")]


def _no_positions(config: ModelConfig) -> ValueEdit:
    """Order is taken away: nothing is added, and where positions turn vectors they are turned back."""
    _require(config.position != "none", "no-positions needs a model with positions: this has none")

    def functions(first: int) -> dict[str, Function]:
        if "rotated" not in config.position_traits:
            names = "source.position", "target.position", "encoder.position_bias", "decoder.position_bias"
            return dict.fromkeys(names, torch.zeros_like)
        own = [path for path in attentions(config) if path.endswith("self_attention")]
        back = {path: partial(_turn_back, config, 0 if path.startswith("encoder") else first) for path in own}
        return {f"{path}.{kind}": function for path, function in back.items() for kind in ("query", "key")}

    return functions


def _turn_back(config: ModelConfig, newest: int, vectors: Tensor) -> Tensor:
    """Of a whole pass, which begins at 0, or of a step: the vectors up to its one word, of which a window keeps the last."""
    first = max(newest + 1 - vectors.shape[2], 0)
    positions = torch.arange(first, first + vectors.shape[2])[None]
    angles = scheme_of(config).rotated
    assert angles is not None
    by = angles(positions, config)
    return rotate(vectors, Rotation(by.cos, -by.sin))


def _no_mask(config: ModelConfig) -> ValueEdit:
    """The decoder's words see the later ones too: scores go into the softmax as they are."""
    _require(not config.is_recurrent, "no-mask needs a model with a mask: this one reads what is written alone")

    def functions(first: int) -> dict[str, Function]:
        latest: dict[str, Tensor] = {}

        def remember(scaled: Tensor, path: str) -> Tensor:
            latest[path] = scaled
            return scaled

        edits: dict[str, Function] = {}
        for layer in range(config.num_decoder_layers):
            path = f"decoder.layers.{layer}.self_attention"
            edits[f"{path}.scaled"] = partial(remember, path=path)
            edits[f"{path}.masked"] = lambda masked, path=path: latest[path]  # type: ignore[misc]
        return edits

    return functions


def check_attention(config: ModelConfig, attention: str) -> None:
    """The path must be that of one of the model's attentions."""
    known = attentions(config)
    _require(bool(known), "this model looks at nothing: it has one fixed vector; change words instead")
    if attention not in known:
        wanted = f"attention must be one of {known[0]} ... {known[-1]}"
        raise UsageError(f"{wanted}: got {attention!r}{suggest(attention, known)}")


def _head_edit(change: Change, config: ModelConfig, unmasked: bool) -> ValueEdit:
    """One head is off: its context is zero; or one word of it attends as the reader says."""
    attention, head = change["attention"], change["head"]
    check_attention(config, attention)
    num_heads = 1 if config.is_recurrent else config.num_heads
    _require(0 <= head < num_heads, f"head must be from 0 to {num_heads - 1}: got {head}")
    if change["kind"] == "head-off":
        silence = partial(torch.index_fill, dim=1, index=torch.tensor(head), value=0)
        return lambda first: {f"{attention}.context": silence}
    row, chosen = change["row"], change["weights"]
    _require(row >= 0, f"row must be a word's place, from 0: got {row}")
    are_weights = all(type(each) in (int, float) and 0 <= each < math.inf for each in chosen)
    _require(are_weights, "weights must be numbers from 0 up: got something else; correct the row")
    _require(
        unmasked or not _over_target(attention) or not any(chosen[row + 1 :]),
        f"weights of row {row} must be 0 for the words after it, which are hidden: got others; remove the mask first",
    )

    def functions(first: int) -> dict[str, Function]:
        place = row - first if attention.startswith("decoder") else row
        return {f"{attention}.weights": partial(_with_row, head=head, row=place, chosen=chosen)}

    return functions


def _with_row(weights: Tensor, head: int, row: int, chosen: Sequence[float]) -> Tensor:
    if not 0 <= row < weights.shape[2]:
        return weights
    # Another output may be shorter or longer than the one the row was taken from.
    kept = chosen[: weights.shape[3]]
    weights = weights.clone()
    weights[:, head, row] = 0
    weights[:, head, row, : len(kept)] = torch.tensor(kept, dtype=weights.dtype)
    return weights


def _word_span(text: str, index: int, subject: Subject) -> tuple[int, int]:
    """The characters of a word, which is counted as the page shows it."""
    reads = subject.config.has_encoder
    tokenizer = subject.source if reads else subject.target
    # A decoder-only model's first word is the beginning.
    start = len(tokenizer.beginning) if reads else 1
    ids = tokenizer.encode(text)
    spans = words(ids, tokenizer.token_strings(ids), tokenizer.special_ids)
    last_index = start + len(spans) - 1
    _require(start <= index <= last_index, f"index must be a word's, from {start} to {last_index}: got {index}")
    first, last = spans[index - start]
    places = tokenizer.spans_in(text)
    begin, end = places[first][0], places[last][1]
    return end - len(text[begin:end].lstrip()), end


def _span_in(given: str, read: str, span: tuple[int, int]) -> tuple[int, int]:
    """The characters of the given text that became these of the text that was read."""
    # Words in capitals are read in small letters.
    blocks = SequenceMatcher(None, read.lower(), given.lower(), autojunk=False).get_matching_blocks()

    def moved(place: int) -> int:
        # The empty block at the end is always found.
        block = next(each for each in blocks if place <= each.a + each.size)
        return block.b + max(place - block.a, 0)

    return moved(span[0]), moved(span[1])


def _replaced(text: str, span: tuple[int, int], replacement: str) -> str:
    _require(bool(replacement.strip()), "a word must have letters: got an empty one; type another")
    return text[: span[0]] + replacement.strip() + text[span[1] :]


def _forced(change: Change, subject: Subject, output: list[int]) -> tuple[int, ...]:
    """The prefix of the output when a word is forced at a step."""
    step, tokens = change["step"], subject.target.encode(change["text"].strip())
    _require(0 <= step <= len(output), f"step must be from 0 to {len(output)}: got {step}")
    _require(bool(tokens), "a word to force must have letters: got an empty one; type another")
    return (*output[:step], *tokens)
