"""Search with a configuration: many sources at once, or one as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from regard.config import DecodeConfig
from regard.decode.beam import BeamSearch
from regard.decode.constraints import Constraints, Rules
from regard.decode.interface import Emission, Hypothesis, StepModel, StepRecord
from regard.decode.single_path import (
    Choose,
    Event,
    TokenSampler,
    collect,
    decode_single_paths,
    greedy,
)
from regard.errors import UsageError


def search(
    model: StepModel,
    sources: Sequence[Sequence[int]],
    config: DecodeConfig,
    *,
    bos_id: int,
    eos_id: int,
    pad_id: int,
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
    rules = Rules(sources, config, constraints, bos_id=bos_id, eos_id=eos_id, pad_id=pad_id)
    whole = None if history is not None else whole_search(model, config, constraints, attention)
    if whole is not None:
        _check_single_path(config, rules)
        outputs: list[list[Hypothesis]] = whole(sources, config, rules.limits)
        return outputs
    if config.method == "beam":
        beam_search = BeamSearch(sources, config, rules, attention=attention, history=history)
        return beam_search.run(model)
    order = range(len(sources)) if numbers is None else numbers
    weighs = attention or config.coverage_penalty > 0
    events = _events(model, sources, config, rules, order, attention=weighs, history=history)
    return collect(events, sources, config, attention=attention)


def stream(
    model: StepModel,
    source: Sequence[int],
    config: DecodeConfig,
    *,
    bos_id: int,
    eos_id: int,
    pad_id: int,
    constraints: Constraints | None = None,
    history: list[StepRecord] | None = None,
    number: int = 0,
    num_given: int | None = None,
) -> Iterator[Emission]:
    """The output of one source, token by token, without its forced prefix: the same tokens as `search` finds.

    num_given: tokens of the prefix that penalties do not count; all of them if not told.
    """
    if config.method == "beam":
        raise UsageError(
            "a stream must be greedy or sampled, for a beam only knows its output at the end: got "
            "method=beam; use method=greedy or method=sample"
        )
    config = replace(config, n_best=1)
    given = None if constraints is None else [constraints]
    rules = Rules([source], config, given, bos_id=bos_id, eos_id=eos_id, pad_id=pad_id)
    events = _events(model, [source], config, rules, [number], history=history, num_given=num_given)
    return (event.emission for event in events if not event.forced)


def best_of_n(
    model: StepModel,
    source: Sequence[int],
    config: DecodeConfig,
    value: Callable[[Hypothesis], float],
    *,
    bos_id: int,
    eos_id: int,
    pad_id: int,
    constraints: Constraints,
    history: list[StepRecord] | None = None,
    number: int = 0,
) -> Iterator[Hypothesis | None]:
    """Sample n_best outputs of one source side by side: None after each step, at the end the one of most value."""
    rules = Rules([source], config, [constraints], bos_id=bos_id, eos_id=eos_id, pad_id=pad_id)
    events: list[Event] = []
    for event in _events(model, [source], config, rules, [number], history=history):
        if events and not event.forced and event.path <= events[-1].path:
            yield None
        events.append(event)
    yield max(collect(iter(events), [source], config)[0], key=value)


def whole_search(
    model: StepModel,
    config: DecodeConfig,
    constraints: Sequence[Constraints] | None,
    attention: bool,
) -> Callable[..., list[list[Hypothesis]]] | None:
    """The model's own search for any number of sources, where it has one: without sampling and constraints."""
    plain = (
        config.method != "sample"
        and not config.coverage_penalty
        and not any(each.prefix or each.banned or each.required for each in constraints or ())
    )
    return getattr(model, "search_whole", None) if plain and not attention else None


def _events(
    model: StepModel,
    sources: Sequence[Sequence[int]],
    config: DecodeConfig,
    rules: Rules,
    numbers: Sequence[int],
    *,
    attention: bool = False,
    history: list[StepRecord] | None = None,
    num_given: int | None = None,
) -> Iterator[Event]:
    """The steps of n_best greedy or sampled paths for each source."""
    _check_single_path(config, rules)
    num_paths = config.n_best
    choose: Choose = greedy
    if config.method == "sample":
        keys = [(number, path) for number in numbers for path in range(num_paths)]
        given = [len(each.prefix) if num_given is None else num_given for each in rules.constraints]
        choose = TokenSampler(config, keys, [each for each in given for _ in range(num_paths)])
    return decode_single_paths(
        model, sources, rules, choose, num_paths=num_paths, attention=attention, history=history
    )


def _check_single_path(config: DecodeConfig, rules: Rules) -> None:
    if any(required is not None for required in rules.required):
        raise UsageError(
            f"required words need beam search: got method={config.method}; use method=beam"
        )
    if config.method == "greedy" and config.n_best > 1:
        raise UsageError(
            f"greedy search has one output: got n_best={config.n_best}; use method=beam or n_best=1"
        )
