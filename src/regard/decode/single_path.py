"""One path per output, token after token: greedy and sampled decoding, whole or as a stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Arrays, Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.constraints import Rules
from regard.decode.interface import (
    IMPOSSIBLE,
    Emission,
    Hypothesis,
    State,
    StepModel,
    StepRecord,
)
from regard.decode.penalties import hypothesis
from regard.decode.sampling import Uniforms, draw, filtered, penalise

NUM_SHOWN = 20
"""most probable tokens in a record"""

Choose = Callable[[Arrays, Array, Host, Sequence[list[int]]], tuple[Host, Host]]
"""(arrays, log-probabilities, path and tokens of each row) -> the next tokens and their log-probabilities"""


class Event(NamedTuple):
    """One step of one path."""

    path: int
    emission: Emission
    forced: bool
    attention: Host | None


def greedy(
    arrays: Arrays, log_probabilities: Array, paths: Host, so_far: Sequence[list[int]]
) -> tuple[Host, Host]:
    """The most probable token."""
    values, tokens = arrays.top(log_probabilities, 1)
    return tokens[:, 0], values[:, 0]


class TokenSampler:
    """Samples the next token of each path; keys: the numbers that seed its generator, besides the seed."""

    def __init__(
        self, config: DecodeConfig, keys: Sequence[tuple[int, ...]], prefixes: Sequence[int]
    ) -> None:
        """prefixes: tokens at the beginning of each path that penalties do not count."""
        self._config = config
        self._prefixes = prefixes
        self._uniforms = Uniforms(config.seed, keys)

    def __call__(
        self, arrays: Arrays, log_probabilities: Array, paths: Host, so_far: Sequence[list[int]]
    ) -> tuple[Host, Host]:
        numbers = self._uniforms.next(paths)
        written = [
            tokens[self._prefixes[path] :]
            for path, tokens in zip(paths.tolist(), so_far, strict=True)
        ]
        scores = penalise(log_probabilities, written, self._config)
        tokens = arrays.host(draw(filtered(scores, self._config), numbers))
        values = arrays.pick(log_probabilities, np.arange(len(paths)), tokens)
        return tokens, arrays.host(values).astype(np.float64)

    def skip(self, paths: Host, num_steps: int) -> None:
        """Drop the draws of forced steps: every step has its own."""
        for _ in range(num_steps):
            self._uniforms.next(paths)


def offers_best(
    model: StepModel, rules: Rules, history: list[StepRecord] | None
) -> Callable[[Sequence[int] | Host, Any, int], tuple[Any, Any, Any]] | None:
    """The model's `step_best`, where the search needs only the best few tokens."""
    if history is not None or not rules.plain:
        return None
    return getattr(model, "step_best", None)


class Beginning(NamedTuple):
    """The forced prefixes, read by the model at once."""

    tokens: Host
    """[rows, length]"""
    log_probabilities: Host
    state: State


def read_beginning(
    model: StepModel, rules: Rules, owners: Host, state: State, *, every_step: bool
) -> Beginning | None:
    """Read the prefixes at once, as far as all rows have one; None if the model cannot or every step is recorded."""
    read = getattr(model, "read", None)
    length = min(len(rules.constraints[owner].prefix) for owner in owners.tolist())
    if read is None or every_step or length < 2:
        return None
    tokens = np.array([rules.constraints[owner].prefix[:length] for owner in owners.tolist()])
    inputs = np.concatenate([np.full((len(tokens), 1), rules.bos_id), tokens[:, :-1]], axis=1)
    values, newer = read(inputs, tokens, state)
    return Beginning(tokens, np.maximum(values, IMPOSSIBLE), newer)


def decode_single_paths(
    model: StepModel,
    sources: Sequence[Sequence[int]],
    rules: Rules,
    choose: Choose,
    *,
    num_paths: int = 1,
    attention: bool = False,
    history: list[StepRecord] | None = None,
) -> Iterator[Event]:
    """Decode `num_paths` paths for each source, all together; a path that has ended leaves the batch."""
    state = model.start(sources, attention=attention)
    paths = np.arange(len(sources) * num_paths)
    if num_paths > 1:
        state = state.select(arrays_for(model).integers(paths // num_paths))
    batch = _Batch(model, rules, choose, num_paths, history, paths, state)
    yield from batch.read_prefixes(every_step=attention or history is not None)
    while len(batch.paths):
        tokens, values, forced = batch.next_tokens()
        weights = batch.arrays.host(batch.state.attention) if attention else None
        alive: list[int] = []
        for row, (path, token, value) in enumerate(
            zip(batch.paths.tolist(), tokens.tolist(), values.tolist(), strict=True)
        ):
            if token == rules.eos_id and value > -math.inf and row not in forced:
                emission = Emission(None, value, "end")
            elif batch.length == rules.limits[path // num_paths] or value == -math.inf:
                emission = Emission(None, 0.0, "length")
            else:
                emission = Emission(token, value)
                batch.written[path].append(token)
                batch.totals[path] += value
                alive.append(row)
            yield Event(path, emission, row in forced, None if weights is None else weights[row])
        batch.keep(alive, tokens)


class _Batch:
    """The unfinished paths of a call, a row of the model's state each."""

    def __init__(
        self,
        model: StepModel,
        rules: Rules,
        choose: Choose,
        num_paths: int,
        history: list[StepRecord] | None,
        paths: Host,
        state: State,
    ) -> None:
        self.model, self.rules, self.choose = model, rules, choose
        self.num_paths, self.history = num_paths, history
        self.paths, self.state, self.length = paths, state, 0
        self.written: list[list[int]] = [[] for _ in paths]
        self.totals = [0.0] * len(paths)
        self.arrays = arrays_for(model)
        self.inputs = np.full(len(paths), rules.bos_id)
        self.step_best = offers_best(model, rules, history) if choose is greedy else None

    def read_prefixes(self, *, every_step: bool) -> Iterator[Event]:
        owners = self.paths // self.num_paths
        beginning = read_beginning(
            self.model, self.rules, owners, self.state, every_step=every_step
        )
        if beginning is None:
            return
        self.state, self.inputs = beginning.state, beginning.tokens[:, -1]
        self.length = beginning.tokens.shape[1]
        self.written = beginning.tokens.tolist()
        self.totals = beginning.log_probabilities.sum(axis=1).tolist()
        if isinstance(self.choose, TokenSampler):
            self.choose.skip(self.paths, self.length)
        for path, values in enumerate(beginning.log_probabilities.tolist()):
            for token, value in zip(list(self.written[path]), values, strict=True):
                yield Event(path, Emission(token, value), True, None)

    def next_tokens(self) -> tuple[Host, Host, dict[int, int]]:
        """The next token of each path with its log-probability, and the forced tokens by row."""
        rules, length = self.rules, self.length
        if self.step_best is not None and length >= rules.longest_prefix:
            count = 1 + len(rules.excluded(0))  # constant, so that an engine can prepare for it
            best, their_tokens, self.state = self.step_best(self.inputs, self.state, count)
            return *first_allowed(best, their_tokens, rules.excluded(length)), {}
        logits, self.state = self.model.step(self.arrays.integers(self.inputs), self.state)
        arrays = self.arrays = arrays_of(logits)
        log_probabilities = log_probabilities_of(self.model, logits)
        owners, paths = self.paths // self.num_paths, self.paths.tolist()
        so_far = [self.written[path] for path in paths]
        if self.history is not None:
            totals = np.array([self.totals[path] for path in paths])
            beams = [list(tokens) for tokens in so_far]
            self.history.append(record(arrays, log_probabilities, owners, beams, totals))
        forced = rules.forced(owners, length)
        forced_values = pick_forced(arrays, log_probabilities, forced)
        seen = so_far if rules.look_back else None
        rules.forbid(arrays, log_probabilities, owners, length, seen)
        tokens, values = self.choose(arrays, log_probabilities, self.paths, so_far)
        tokens[list(forced)] = list(forced.values())
        values[list(forced)] = forced_values
        return tokens, values, forced

    def keep(self, alive: list[int], tokens: Host) -> None:
        """Continue with these rows after these tokens."""
        self.length += 1
        self.inputs = tokens
        if len(alive) < len(self.paths):
            rows = np.array(alive, dtype=np.int64)
            self.paths, self.inputs = self.paths[rows], tokens[rows]
            if alive:
                self.state = self.state.select(self.arrays.integers(rows))


def first_allowed(
    values: Sequence[Sequence[float]], tokens: Sequence[Sequence[int]], excluded: Sequence[int]
) -> tuple[Host, Host]:
    """The best token of each row that is not excluded, and its log-probability."""
    chosen = []
    for their_values, their_tokens in zip(values, tokens, strict=True):
        pairs = zip(their_tokens, their_values, strict=True)
        allowed = ((token, value) for token, value in pairs if token not in excluded)
        chosen.append(next(allowed, (their_tokens[-1], -math.inf)))
    found = np.array(chosen)
    return found[:, 0].astype(np.int64), found[:, 1]


def pick_forced(arrays: Arrays, log_probabilities: Array, forced: dict[int, int]) -> Host:
    """The log-probabilities of forced tokens, by row; never -inf."""
    if not forced:
        return np.zeros(0)
    values = arrays.pick(log_probabilities, np.array(list(forced)), np.array(list(forced.values())))
    return np.maximum(arrays.host(values).astype(np.float64), IMPOSSIBLE)


def record(
    arrays: Arrays, log_probabilities: Array, owners: Host, beams: list[list[int]], totals: Host
) -> StepRecord:
    values, tokens = arrays.top(log_probabilities, NUM_SHOWN)
    return StepRecord(
        owners.tolist(), beams, totals.tolist(), tokens.tolist(), np.exp(values).tolist()
    )


def collect(
    events: Iterator[Event],
    sources: Sequence[Sequence[int]],
    config: DecodeConfig,
    *,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """The n_best finished paths of each source, best first."""
    tokens: list[list[int]] = [[] for _ in range(len(sources) * config.n_best)]
    values: list[list[float]] = [[] for _ in tokens]
    weights: list[list[Host]] = [[] for _ in tokens]
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for path, emission, _, weight in events:
        source = path // config.n_best
        if emission.stop != "length":
            values[path].append(emission.log_probability)
            if weight is not None:
                weights[path].append(weight)
        if emission.token is not None:
            tokens[path].append(emission.token)
        if emission.stop is not None:
            finished = hypothesis(
                tokens[path],
                values[path],
                emission.stop,
                config.length_penalty,
                weights=weights[path],
                source_len=None if weight is None else len(sources[source]),
                beta=config.coverage_penalty,
                show=attention,
            )
            results[source].append(finished)
    return [sorted(hypotheses, key=lambda each: -each.score) for hypotheses in results]
