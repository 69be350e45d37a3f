"""One sentence in one model or two, and every what-if that was asked of it: the runs behind the page."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.config import DecodeConfig
from regard.engine.edited import EditedEngine, UncachedEngine
from regard.engine.torch import TorchEngine
from regard.errors import UsageError
from regard.look.subject import Subject
from regard.look.whatif import Plan, plan_of
from regard.text.normalise import known_signs
from regard.trace import Trace
from regard.translate.trace import Found, find, record_steps, trace_pair

_MAX_KEPT = 8
"""what-if runs that are remembered; each holds every value of a pass"""

PARAMETER = "param:"
"""begins the name of a weight where it is asked for like a traced value"""


@dataclass(frozen=True)
class Run:
    """One sentence through one model, with every value."""

    number: int
    subject: Subject
    text: str
    """what was read: the source, or a decoder-only model's prompt"""
    source: list[int]
    """empty in a decoder-only model"""
    num_given: int
    """how many pieces of the target were the user's"""
    found: Found
    trace: Trace
    plan: Plan
    original: Run | None = None
    """the run that this one changes"""

    @property
    def output(self) -> list[int]:
        """The target's pieces, without beginning and end; none of a model that only reads."""
        return self.found.hypotheses[0].tokens if self.found.hypotheses else []

    @property
    def translation(self) -> str:
        """What was written; of a model that only reads, the text with its blanks filled in."""
        return self.subject.target.decode(self.output or self.at_places)

    @property
    def at_places(self) -> list[int]:
        """What comes at each place that the full pass has scores for; a blank's most probable piece."""
        if self.subject.config.has_decoder:
            return [*self.output, self.subject.config.eos_id]
        mask = self.subject.manifest.tokenizer.mask
        blank = self.subject.source.id_of(mask) if mask else None
        best = self.trace["probabilities"].argmax(axis=-1).tolist()
        return [best[i] if id == blank else id for i, id in enumerate(self.source)]

    def tensor(self, name: str) -> np.ndarray | None:
        """A traced value, or the weight whose name follows `param:`."""
        if name.startswith(PARAMETER):
            return self.subject.parameter(name.removeprefix(PARAMETER))
        if name not in self.trace or name.startswith("steps."):
            return None
        value: np.ndarray = self.trace[name]
        return value


class Session:
    """The runs of a page: 0 is the sentence itself, 1 the second model's where there is one."""

    def __init__(
        self, subject: Subject, text: str, decode: DecodeConfig, compare: Subject | None = None
    ) -> None:
        self.decode = decode
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Run] = OrderedDict()
        self.original = self._run(0, subject, text, Plan(), None)
        self.second = None
        if compare is not None:
            self.second = self._run(1, compare, text, Plan(), None)
        self._next = 1 if compare is None else 2

    def run(self, number: int) -> Run:
        with self._lock:
            if number == 0:
                return self.original
            if number == 1 and self.second is not None:
                return self.second
            if number in self._kept:
                return self._kept[number]
        raise UsageError(
            f"a run must be one that was asked for lately: got {number}; ask for its changes again"
        )

    def whatif(self, changes: Sequence[Mapping[str, Any]], number: int = 0) -> Run:
        """Run `number` again with these changes, in the order they were made; none gives the run itself."""
        original = self.run(number)
        if original.original is not None:
            raise UsageError(
                f"changes are made to a model as it is: run {number} is changed already; "
                f"give them all to run {original.original.number}"
            )
        if not changes:
            return original
        # One at a time: each already uses all the threads there are.
        with self._lock:
            run = self._changed(original, list(changes), self._next)
            self._next += 1
            self._kept[run.number] = run
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return run

    def _changed(self, original: Run, changes: list[Mapping[str, Any]], number: int) -> Run:
        def output_before(count: int) -> list[int]:
            before = self._changed(original, changes[:count], number) if count else original
            return before.output

        plan = plan_of(changes, original.subject, original.text, output_before)
        return self._run(number, original.subject, plan.text or original.text, plan, original)

    def _run(
        self, number: int, subject: Subject, text: str, plan: Plan, original: Run | None
    ) -> Run:
        network = subject.network
        if subject.config.has_encoder:
            source, given = subject.source_ids(text), []
        else:
            source, given = [], subject.target.encode(known_signs(text, subject.target))
        if len(source) + len(given) > subject.manifest.longest:
            raise UsageError(
                f"a sentence to look at must have at most {subject.manifest.longest} tokens: got "
                f"{len(source) + len(given)}; look at a part of it"
            )
        plan.check_lengths(len(source))
        engine: TorchEngine = TorchEngine(network)
        if plan.edits:
            engine = (UncachedEngine if plan.sees_future else EditedEngine)(network, plan.edits_at)
        found = Found([], [])
        if subject.config.has_decoder:
            found = find(engine, source, self.decode, plan.prefix or given)
        written = found.hypotheses[0].tokens if found.hypotheses else []
        trace = trace_pair(network, source, written, plan.edits_at(0))
        record_steps(trace, found.history)
        if subject.config.has_decoder:
            written = trace["target.tokens"].tolist()
        trace.metadata |= {
            "source": text,
            "target": subject.target.decode(written),
            "source_pieces": subject.source.token_strings(source),
            "target_pieces": subject.target.token_strings(written),
            "source_language": subject.manifest.source_language,
            "target_language": subject.manifest.target_language,
            "changes": [dict(change) for change in plan.changes],
        }
        return Run(number, subject, text, source, len(given), found, trace, plan, original)
