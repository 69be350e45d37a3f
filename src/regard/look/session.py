"""One text in one model or two, and every what-if that was asked of it: the runs behind the page.

A run takes the pipeline of `translate`: its text is the one that `translate` gives.
"""

import functools
import secrets
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.config import DecodeConfig, from_dict, to_dict
from regard.decode import Hypothesis
from regard.engine.torch import TorchEngine, UncachedEngine
from regard.errors import RegardWarning, UsageError
from regard.folder.catalogue import available
from regard.folder.manifest import Manifest
from regard.look.run import Run
from regard.look.subject import Subject
from regard.look.training_run import TrainingRun
from regard.look.training_step import take_step
from regard.look.whatif import EditPlan, plan_of
from regard.text import check_text
from regard.text.normalise import known_signs
from regard.translate.pipeline import Translator
from regard.translate.search import DEFAULT_OPTIONS, TranslateOptions
from regard.translate.trace import SearchRecord, record_run, search_recorded, trace_pair, translate_recorded

_MAX_KEPT = 8  # what-if runs and other sentences that are remembered; each holds every value of a pass
_MAX_KEPT_OF_TRAINING = 40  # the same where each snapshot has its own


class Session:
    """The runs of a page: 0 is the sentence itself, 1 the second model's where there is one."""

    def __init__(
        self,
        subject: Subject,
        text: str,
        decode: DecodeConfig,
        compare: Subject | None = None,
        sentence: int = 0,
        options: TranslateOptions = DEFAULT_OPTIONS,
        training: TrainingRun | None = None,
    ) -> None:
        """training: the run that made the subject, whose snapshots can be looked at too."""
        _check_has_words(text)
        if decode.method == "sample" and decode.seed is None:
            # The page names the seed, and a change is compared under the same one.
            decode = replace(decode, seed=secrets.randbelow(1_000_000))
        self.decode, self.options, self.training = decode, options, training
        self._max_kept = _MAX_KEPT if training is None else _MAX_KEPT_OF_TRAINING
        self._lock = threading.Lock()
        self._kept: dict[int, Run] = {}
        self._own = [subject] if compare is None else [subject, compare]
        self._opened = dict(enumerate(self._own))
        self.unchanged = [self._run(i, each, text, model=i, sentence=sentence) for i, each in enumerate(self._own)]
        """the run of each model as it is"""
        self.original = self.unchanged[0]
        self._next = len(self.unchanged)

    def run(self, number: int) -> Run:
        found = dict(enumerate(self.unchanged)).get(number) or self._kept.get(number)
        if found is None:
            raise UsageError(f"a run must be one that was asked for lately: got {number}; ask for its changes again")
        return found

    def sentence(self, sentence: int, number: int = 0) -> Run:
        """Another sentence of the text, in the model of run `number`."""
        first = self.run(number).unchanged
        for each in (first, *self.unchanged):
            if each.subject is first.subject and each.text == first.text and each.sentence == sentence:
                return each
        with self._lock:
            return self._keep(first.subject, first.text, model=first.model, sentence=sentence)

    @functools.cached_property
    def models(self) -> list[tuple[str, Path | None, Manifest]]:
        """Name, folder and manifest of each model that can be given a text: the session's own, then all others here."""
        own = {each.folder.resolve() for each in self._own if each.folder}
        models: list[Any] = [*self._own, *(each for each in available() if each.folder.resolve() not in own)]
        return [(each.name, each.folder, each.manifest) for each in models]

    def text(self, text: str, model: int = 0) -> Run:
        """Another text, in one of `models`."""
        if not 0 <= model < len(self.models):
            raise UsageError(f"model must be from 0 to {len(self.models) - 1}: got {model}; choose one of the list")
        _check_has_words(text)
        with self._lock:
            if model not in self._opened:
                _, folder, _ = self.models[model]
                assert folder is not None
                self._opened[model] = Subject.open(folder)
            return self._keep(self._opened[model], text, model=model)

    def _decode_of(self, subject: Subject) -> DecodeConfig:
        """How outputs are searched: a model that was chosen on the page has its own settings."""
        if subject.step is not None or any(subject is each for each in self._own):
            return self.decode
        return replace(subject.manifest.decode, seed=self.decode.seed or 0)

    def whatif(self, changes: Sequence[Mapping[str, Any]], number: int = 0) -> Run:
        """Run `number` as it was at first, with these changes, in the order they were made."""
        original = self.run(number).unchanged
        if not changes:
            return original
        # One at a time: each already uses all the threads there are.
        with self._lock:
            return self._remember(self._changed(original, list(changes)))

    def learning(self, number: int, step: int | None, reference: str | None = None) -> Run:
        """The text of run `number` in a snapshot (None: the finished model); with a reference, a training step on both."""
        first, training = self.run(number).unchanged, self.training
        if training is None:
            raise UsageError("this model has no snapshots: look at a run's folder that has them")
        asked = (first.text, first.sentence, step, reference)
        with self._lock:
            for each in (*self.unchanged, *self._kept.values()):
                found = (each.text, each.sentence, each.subject.step, each.reference)
                if found == asked and not (each.original or each.model):
                    return each
            finished = self._own[0] if self._own[0].step is None else None
            subject = training.subject(step) if step is not None else finished or Subject.open(training.folder)
            if reference is None:
                return self._keep(subject, first.text, sentence=first.sentence)
            return self._remember(self._taken_apart(training, subject, first, reference))

    def _taken_apart(self, training: TrainingRun, subject: Subject, first: Run, reference: str) -> Run:
        """A run with teacher forcing: the output is the reference."""
        if subject.step is None or not subject.config.has_decoder:
            raise UsageError(
                "a training step is shown of a snapshot of a model that writes; choose one with the slider"
            )
        if training.plan.train.adapter:
            raise UsageError("a training step is taken apart where all weights learn: this run has adapters")
        target = subject.target.encode(check_text(reference, "the right answer").strip())
        if not 0 < len(target) <= subject.manifest.longest:
            raise UsageError(f"the right answer must have 1 to {subject.manifest.longest} tokens: got {len(target)}")
        rate, moments = training.rate(subject.step), training.snapshot(subject.step).moments
        about: Any = {"number": subject.step + 1, "rate": rate, "moments": moments}
        step = take_step(subject.network, first.source, target, training.plan.train, **about)
        found = SearchRecord([Hypothesis(target, 0.0, 0.0, [0.0] * (len(target) + 1), "end")], [])
        new: Any = {"number": self._next, "subject": subject, "found": found, "trace": step.trace}
        return replace(first, **new, plan=EditPlan(), model=0, step=step, reference=reference, num_given=0)

    def _keep(self, subject: Subject, text: str, **settings: Any) -> Run:
        return self._remember(self._run(self._next, subject, text, **settings))

    def _remember(self, run: Run) -> Run:
        self._next += 1
        self._kept[run.number] = run
        if len(self._kept) > self._max_kept:
            del self._kept[min(self._kept)]
        return run

    def _changed(self, original: Run, changes: list[Mapping[str, Any]]) -> Run:
        def output_before(count: int) -> list[int]:
            return (self._changed(original, changes[:count]) if count else original).output

        given, read = original.stage("given"), original.stage("protected")
        plan = plan_of(changes, original.subject, given, read, output_before)
        with warnings.catch_warnings():
            # A changed model may well repeat itself: the page shows it.
            warnings.simplefilter("ignore", RegardWarning)
            like: Any = {"model": original.model, "original": original}
            return self._run(self._next, original.subject, plan.text or given, plan, **like)

    def _run(
        self,
        number: int,
        subject: Subject,
        text: str,
        plan: EditPlan = EditPlan(),  # noqa: B008 (frozen)
        *,
        model: int = 0,
        sentence: int = 0,
        original: Run | None = None,
    ) -> Run:
        config, manifest = subject.config, subject.manifest
        translates = manifest.task == "translate" and config.has_encoder and config.has_decoder
        engine = (subject.engine if translates else None) or TorchEngine(subject.network)
        if plan.edits:
            edited = UncachedEngine if plan.sees_future else TorchEngine
            engine = edited(subject.network, edits_at=plan.edits_at)
        translator = Translator(engine, manifest, subject.source, subject.target)
        decode = from_dict(DecodeConfig, {**to_dict(self._decode_of(subject)), **plan.settings}, "search")
        stages: dict[str, Any] = {}
        num_given = 0
        if translates:
            if subject.step is not None and not (self.training and self.training.is_finished):
                # An untrained model never ends, and a long search would hold up the training.
                longest = len(subject.source.encode(text)) + len(plan.prefix or ()) + 10
                longest = min(decode.max_length or longest, longest)
                # It repeats itself too: the page shows that, so that one search is enough.
                decode = replace(decode, max_length=longest, no_repeat_ngram=decode.no_repeat_ngram or longest)
            is_split = self.options.split and original is None
            options = replace(self.options, prefix_tokens=plan.prefix, split=is_split)
            with warnings.catch_warnings():
                if subject.step is not None:  # early in its training a model repeats itself: the page shows it
                    warnings.simplefilter("ignore", RegardWarning)
                record = translate_recorded(translator, text, decode, options, sentence)
            source, found, stages = record.source, record.search, record.stages()
            stages["target"] = stages["text.restored"]
        else:
            source, num_given, found = self._continue(translator, text, plan, decode)
        plan.check_lengths(len(source))
        written = found.hypotheses[0].tokens if found.hypotheses else []
        trace = trace_pair(subject.network, source, written, plan.edits_at(0))
        record_run(trace, translator, text, found.history)
        trace.metadata |= {"changes": [dict(change) for change in plan.changes], **stages}
        return Run(number, subject, text, source, num_given, found, trace, plan, decode, model, sentence, original)

    def _continue(
        self, translator: Translator, text: str, plan: EditPlan, decode: DecodeConfig
    ) -> tuple[list[int], int, SearchRecord]:
        """A model that does not translate: the source it reads, how many tokens it is given, and what it wrote."""
        config, own = translator.config, translator.target
        source = translator.source_ids(text) if config.has_encoder else []
        given = [] if config.has_encoder else own.encode(known_signs(text, own))
        length, longest = len(source) + len(given), translator.manifest.longest
        if length > longest:
            raise UsageError(f"a sentence must have at most {longest} tokens: got {length}; look at a part of it")
        if not config.has_decoder:
            return source, 0, SearchRecord([], [])
        found = search_recorded(translator.engine, source, decode, plan.prefix or given)
        return source, len(given), found


def _check_has_words(text: str) -> None:
    if not check_text(text, "a sentence to look at").strip():
        raise UsageError("a sentence to look at must have words: got none; give some text")
