"""Search over any model that writes one token at a time: greedy, beam, sampling, scoring."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.beam import BeamSearch
from regard.decode.combined import EnsembleModel as EnsembleModel
from regard.decode.constraints import Constraints as Constraints
from regard.decode.constraints import Rules
from regard.decode.interface import IMPOSSIBLE
from regard.decode.interface import Emission as Emission
from regard.decode.interface import Hypothesis as Hypothesis
from regard.decode.interface import State as State
from regard.decode.interface import StepModel as StepModel
from regard.decode.interface import StepRecord as StepRecord
from regard.decode.single_path import SinglePaths, check_single_path
from regard.errors import UsageError

MAX_DRAWN = 256  # tokens that a model's own search draws from, at most
MAX_PLACES = 512  # tokens of given outputs that are read together: each has a score for the whole vocabulary


def search(
    model: StepModel,
    sources: Sequence[Sequence[int]],
    config: DecodeConfig,
    *,
    constraints: Sequence[Constraints] | None = None,
    history: list[StepRecord] | None = None,
    attention: bool = False,
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The best outputs of each source, best first; all sources of a call run together.

    Without a max_length an output may have twice its source's tokens and 50 more, a prefix not counted; a given
    max_length holds for the whole output. `history` is filled with a record for each step. `numbers` identify the
    sources: they and the seed alone decide a sampled output, however the caller forms batches.
    """
    if not sources:
        return []
    rules = Rules(sources, config, constraints, model.config)
    order = range(len(sources)) if numbers is None else numbers
    whole = None if history is not None else whole_search(model, config, constraints, attention)
    if whole is not None:
        check_single_path(config, rules)
        prefixes = [each.prefix for each in rules.constraints]
        asked: dict[str, Any] = {"prefixes": prefixes} if rules.longest_prefix else {}
        if config.method == "sample":
            asked["numbers"] = order
        return whole(sources, config, rules.limits, **asked)
    if config.method == "greedy" and hasattr(model, "step_best"):
        check_single_path(config, rules)
        config = replace(config, method="beam", beam=1)  # the same search, from the best tokens alone
    if config.method == "beam":
        return BeamSearch(sources, config, rules, attention=attention, history=history).run(model)
    return SinglePaths(model, sources, config, rules, order, attention=attention, history=history).hypotheses()


def stream(
    model: StepModel,
    source: Sequence[int],
    config: DecodeConfig,
    *,
    constraints: Constraints | None = None,
    history: list[StepRecord] | None = None,
    number: int = 0,
) -> Iterator[Emission]:
    """The output of one source, token by token, without its forced prefix: the same tokens as `search` finds."""
    if config.method == "beam":
        raise UsageError(
            "a stream must be greedy or sampled, for a beam only knows its output at the end: got "
            "method=beam; use method=greedy or method=sample"
        )
    config = replace(config, n_best=1)
    rules = Rules([source], config, [constraints or Constraints()], model.config)
    path = SinglePaths(model, [source], config, rules, [number], history=history)
    return (emission for emissions in path.steps() for emission in emissions)


def whole_search(
    model: StepModel, config: DecodeConfig, constraints: Sequence[Constraints] | None, attention: bool
) -> Callable[..., list[list[Hypothesis]]] | None:
    """The model's own search over all sources, or None where it has none or cannot do this one: it knows no constraints but
    the prefixes of a decoder alone, returns no attention, and samples one output of each from a few tokens."""
    has_encoder = model.config.has_encoder
    few = 0 < config.top_k <= MAX_DRAWN and config.n_best == 1
    plain = (
        (config.method != "sample" or (few and not config.presence_penalty and not config.frequency_penalty))
        and not config.coverage_penalty
        and not any(each.banned or each.required or (each.prefix and has_encoder) for each in constraints or ())
    )
    return getattr(model, "search_whole", None) if plain and not attention else None


def score(model: StepModel, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
    """The log-probability of each token of each target, its end included."""
    if not sources:
        return []
    outputs, bos_id = [[*target, model.config.eos_id] for target in targets], model.config.bos_id
    state, read = model.start(sources), getattr(model, "read", None)
    size = max(MAX_PLACES // max(map(len, outputs)), 1) if read else len(outputs)
    results: list[list[float]] = []
    for begin in range(0, len(outputs), size):
        group = outputs[begin : begin + size]
        longest = max(map(len, group))
        following = np.array([[*output, *[bos_id] * (longest - len(output))] for output in group])
        tokens = np.concatenate([np.full((len(group), 1), bos_id), following[:, :-1]], axis=1)
        if read is None:
            values = _read_by_steps(model, tokens, following, np.array([*map(len, group)]), state)
        else:
            values, _ = read(tokens, following, state.select(np.arange(begin, begin + len(group))))
        for output, row in zip(group, np.maximum(values, IMPOSSIBLE).tolist(), strict=True):
            results.append(row[: len(output)])
    return results


def _read_by_steps(model: StepModel, tokens: Host, following: Host, lengths: Host, state: State) -> Host:
    """[rows, length]; a row that ends leaves the batch. Nothing is copied to the host before all have, or a GPU waits."""
    arrays, alive, values = arrays_for(model), np.arange(len(tokens)), np.zeros(tokens.shape)
    steps = []
    for place in range(tokens.shape[1]):
        going = np.flatnonzero(lengths[alive] > place)
        if len(going) < len(alive):
            alive, state = alive[going], state.select(arrays.integers(going))
        logits, state = model.step(arrays.integers(tokens[alive, place]), state)
        picked = log_probabilities_of(model, logits), np.arange(len(alive)), following[alive, place]
        steps.append((alive, place, arrays_of(logits).pick(*picked)))
    for rows, place, found in steps:
        values[rows, place] = arrays_of(found).host(found)
    return values
