"""The entrance: search with a configuration, at once for many sources or as a stream for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from regard.config import DecodeConfig
from regard.decode.beam import BeamSearch
from regard.decode.constraints import Constraints, Rules
from regard.decode.interface import Emission, Hypothesis, StepModel, StepRecord
from regard.decode.single_path import Event, Sampler, collect, decode_single_paths, greedy
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

    Without a max_length an output may have twice its source's tokens and 50 more, a prefix not counted; a
    given max_length holds for the whole output. `history` is filled with a record for each step. `numbers`
    are the sources' places in the caller's own order: they and the seed alone decide a sampled output,
    however the caller forms batches.
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
    _check_single_path(config, rules)
    num_paths = config.n_best
    order = range(len(sources)) if numbers is None else numbers
    keys = [(number, path) for number in order for path in range(num_paths)]
    prefixes = [len(each.prefix) for each in rules.constraints for _ in range(num_paths)]
    choose = greedy if config.method == "greedy" else Sampler(config, keys, prefixes)
    events = decode_single_paths(
        model,
        sources,
        rules,
        choose,
        num_paths=num_paths,
        attention=attention or config.coverage_penalty > 0,
        history=history,
    )
    return collect(events, sources, config, num_paths=num_paths, attention=attention)


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
    """The output of one source, token by token as it is found, without a forced prefix.

    num_given: tokens of the prefix that penalties do not count, all of them if not told.
    The same tokens as `search` gives with the same configuration; only greedy search and sampling can tell
    a token before they know the rest.
    """
    if config.method == "beam":
        raise UsageError(
            "a stream must be greedy or sampled, for a beam only knows its output at the end: got "
            "method=beam; use method=greedy or method=sample"
        )
    config = replace(config, n_best=1)
    rules = Rules(
        [source],
        config,
        None if constraints is None else [constraints],
        bos_id=bos_id,
        eos_id=eos_id,
        pad_id=pad_id,
    )
    _check_single_path(config, rules)
    prefixes = [len(each.prefix) if num_given is None else num_given for each in rules.constraints]
    choose = greedy if config.method == "greedy" else Sampler(config, [(number, 0)], prefixes)
    events = decode_single_paths(model, [source], rules, choose, history=history)
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
    num_paths = config.n_best
    keys = [(number, path) for path in range(num_paths)]
    choose = Sampler(config, keys, [len(constraints.prefix)] * num_paths)
    events: list[Event] = []
    for event in decode_single_paths(
        model, [source], rules, choose, num_paths=num_paths, history=history
    ):
        if events and not event.forced and event.path <= events[-1].path:
            yield None
        events.append(event)
    yield max(collect(iter(events), [source], config, num_paths=num_paths)[0], key=value)


def whole_search(
    model: StepModel,
    config: DecodeConfig,
    constraints: Sequence[Constraints] | None,
    attention: bool,
) -> Callable[..., list[list[Hypothesis]]] | None:
    """The model's own way to search, which takes any number of sources, where it has one for such outputs.

    They must follow from the sources and the configuration alone, with nothing drawn.
    """
    plain = (
        config.method != "sample"
        and not config.coverage_penalty
        and not any(each.prefix or each.banned or each.required for each in constraints or ())
    )
    return getattr(model, "search_whole", None) if plain and not attention else None


def _check_single_path(config: DecodeConfig, rules: Rules) -> None:
    if any(required is not None for required in rules.required):
        raise UsageError(
            f"required words need beam search: got method={config.method}; use method=beam"
        )
    if config.method == "greedy" and config.n_best > 1:
        raise UsageError(
            f"greedy search has one output: got n_best={config.n_best}; use method=beam or n_best=1"
        )
