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
"""How many of the most probable tokens a record keeps."""

Choose = Callable[[Arrays, Array, Host, Sequence[list[int]]], tuple[Host, Host]]
"""(arrays, log-probabilities, path and tokens so far of each row) -> the next tokens and their log-probabilities."""


class Event(NamedTuple):
    """What happened to one path at one step."""

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


class Sampler:
    """A draw for each path; the keys tell the paths apart, see Uniforms."""

    def __init__(
        self, config: DecodeConfig, keys: Sequence[tuple[int, ...]], prefixes: Sequence[int]
    ) -> None:
        """prefixes: how many tokens of each path were given."""
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
        """Every step has its own draw, also one where there was no choice."""
        for _ in range(num_steps):
            self._uniforms.next(paths)


def offers_best(
    model: StepModel, rules: Rules, history: list[StepRecord] | None
) -> Callable[[Sequence[int] | Host, Any, int], tuple[Any, Any, Any]] | None:
    """The model's `step_best`, if it has one and the best few tokens are all that a search will look at."""
    if history is not None or not rules.plain:
        return None
    return getattr(model, "step_best", None)


class Beginning(NamedTuple):
    """What every output begins with, already read by the model."""

    tokens: Host
    """[rows, length]"""
    log_probabilities: Host
    state: State


def read_beginning(
    model: StepModel, rules: Rules, owners: Host, state: State, *, every_step: bool
) -> Beginning | None:
    """The prefixes as far as all rows have one, read at once, if the model can.

    Not where `every_step` has to be seen, nor where there is nothing to gain.
    """
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
    """Walk `num_paths` paths for each source, all together; a path that has ended leaves the batch."""
    arrays = arrays_for(model)
    state = model.start(sources, attention=attention)
    paths = np.arange(len(sources) * num_paths)
    if num_paths > 1:
        state = state.select(arrays.integers(paths // num_paths))
    written: list[list[int]] = [[] for _ in paths]
    totals = [0.0] * len(paths)
    limits = rules.limits.tolist()
    inputs = np.full(len(paths), rules.bos_id)
    length = 0
    step_best = offers_best(model, rules, history) if choose is greedy else None
    count = 1 + len(rules.excluded(0))  # always as many, which an engine can prepare for
    every_step = attention or history is not None
    beginning = read_beginning(model, rules, paths // num_paths, state, every_step=every_step)
    if beginning is not None:
        state, inputs, length = beginning.state, beginning.tokens[:, -1], beginning.tokens.shape[1]
        written = beginning.tokens.tolist()
        totals = beginning.log_probabilities.sum(axis=1).tolist()
        if isinstance(choose, Sampler):
            choose.skip(paths, length)
        for path, values in enumerate(beginning.log_probabilities.tolist()):
            for token, value in zip(written[path], values, strict=True):
                yield Event(path, Emission(token, value), True, None)
    while len(paths):
        owners = paths // num_paths
        forced: dict[int, int] = {}
        if step_best is not None and length >= rules.longest_prefix:
            best, their_tokens, state = step_best(inputs, state, count)
            tokens, values = first_allowed(best, their_tokens, rules.excluded(length))
        else:
            logits, state = model.step(arrays.integers(inputs), state)
            arrays = arrays_of(logits)
            log_probabilities = log_probabilities_of(model, logits)
            if history is not None:
                beams = [list(written[path]) for path in paths.tolist()]
                so_far_totals = np.array([totals[path] for path in paths.tolist()])
                history.append(record(arrays, log_probabilities, owners, beams, so_far_totals))
            forced = rules.forced(owners, length)
            forced_values = pick_forced(arrays, log_probabilities, forced)
            so_far = [written[path] for path in paths.tolist()]
            seen = so_far if rules.look_back else None
            rules.forbid(arrays, log_probabilities, owners, length, seen)
            tokens, values = choose(arrays, log_probabilities, paths, so_far)
            tokens[list(forced)] = list(forced.values())
            values[list(forced)] = forced_values
        weights = arrays.host(state.attention) if attention else None
        going: list[int] = []
        for row, (path, owner, token, value) in enumerate(
            zip(paths.tolist(), owners.tolist(), tokens.tolist(), values.tolist(), strict=True)
        ):
            is_forced = row in forced
            if token == rules.eos_id and value > -math.inf and not is_forced:
                emission = Emission(None, value, "end")
            elif length == limits[owner] or value == -math.inf:
                emission = Emission(None, 0.0, "length")
            else:
                emission = Emission(token, value)
                written[path].append(token)
                totals[path] += value
                going.append(row)
            yield Event(path, emission, is_forced, None if weights is None else weights[row])
        inputs = tokens
        if len(going) < len(paths):
            alive = np.array(going, dtype=np.int64)
            paths, inputs = paths[alive], tokens[alive]
            if going:
                state = state.select(arrays.integers(alive))
        length += 1


def first_allowed(
    values: Sequence[Sequence[float]], tokens: Sequence[Sequence[int]], excluded: Sequence[int]
) -> tuple[Host, Host]:
    """The best token of each row that is not excluded, and its log-probability."""
    chosen_tokens, chosen_values = [], []
    for their_values, their_tokens in zip(values, tokens, strict=True):
        token, value = their_tokens[-1], -math.inf
        for place, candidate in enumerate(their_tokens):
            if candidate not in excluded:
                token, value = candidate, their_values[place]
                break
        chosen_tokens.append(token)
        chosen_values.append(value)
    return np.array(chosen_tokens), np.array(chosen_values)


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
    num_paths: int = 1,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """The finished paths of each source, best first."""
    tokens: list[list[int]] = [[] for _ in range(len(sources) * num_paths)]
    values: list[list[float]] = [[] for _ in tokens]
    weights: list[list[Host]] = [[] for _ in tokens]
    results: list[list[Hypothesis]] = [[] for _ in sources]
    for event in events:
        path, emission = event.path, event.emission
        source = path // num_paths
        if emission.stop != "length":
            values[path].append(emission.log_probability)
            if event.attention is not None:
                weights[path].append(event.attention[: len(sources[source])])
        if emission.token is not None:
            tokens[path].append(emission.token)
        if emission.stop is not None:
            finished = hypothesis(
                tokens[path],
                values[path],
                emission.stop,
                config.length_penalty,
                attention=np.array(weights[path]).reshape(len(weights[path]), len(sources[source]))
                if event.attention is not None
                else None,
                beta=config.coverage_penalty,
                show=attention,
            )
            results[source].append(finished)
    for hypotheses in results:
        hypotheses.sort(key=lambda each: -each.score)
    return results
