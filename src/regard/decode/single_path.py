"""One path per output, token after token: greedy and sampled decoding, whole or as a stream."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.constraints import Rules
from regard.decode.interface import IMPOSSIBLE, Emission, Hypothesis, State, StepModel, StepRecord, hypothesis
from regard.decode.sampling import TokenSampler
from regard.errors import UsageError

NUM_SHOWN = 20  # most probable tokens in a record


class SinglePaths:
    """n_best greedy or sampled outputs of each source, all together, a row of the model's state each.

    A path that has ended leaves the batch.
    """

    def __init__(
        self,
        model: StepModel,
        sources: Sequence[Sequence[int]],
        config: DecodeConfig,
        rules: Rules,
        numbers: Sequence[int],
        *,
        attention: bool = False,
        history: list[StepRecord] | None = None,
    ) -> None:
        check_single_path(config, rules)
        self._model, self._sources, self._config, self._rules = model, sources, config, rules
        self._show, self._history = attention, history
        self._attention = attention or config.coverage_penalty > 0
        count, num_paths = len(sources) * config.n_best, config.n_best
        self._sampler: TokenSampler | None = None
        if config.method == "sample":
            keys = [(number, path) for number in numbers for path in range(num_paths)]
            given = [len(each.prefix) for each in rules.constraints]
            self._sampler = TokenSampler(config, keys, np.repeat(given, num_paths).tolist())
        self._arrays = arrays_for(model)
        self._state = model.start(sources, attention=self._attention)
        self._paths = np.arange(count)
        """the path of each row"""
        if num_paths > 1:
            self._state = self._state.select(self._arrays.integers(self._paths // num_paths))
        self._inputs = np.full(count, rules.bos_id)
        self._length = 0
        self._tokens: list[list[int]] = [[] for _ in range(count)]
        self._values: list[list[float]] = [[] for _ in range(count)]
        self._weights: list[list[Host]] = [[] for _ in range(count)]
        self._finished: list[list[Hypothesis]] = [[] for _ in sources]

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The outputs of each source, best first."""
        for _ in self.steps():
            pass
        return [sorted(outputs, key=lambda each: -each.score) for outputs in self._finished]

    def steps(self) -> Iterator[list[Emission]]:
        while len(self._paths):
            yield self._step()

    def _step(self) -> list[Emission]:
        """What the paths write next, forced tokens left out."""
        if self._length == 0 and self._read_prefixes():
            return []
        tokens, values, forced = self._next_tokens()
        weights = self._arrays.host(self._state.attention) if self._attention else None
        emissions: list[Emission] = []
        alive: list[int] = []
        rows = zip(self._paths.tolist(), tokens.tolist(), values.tolist(), strict=True)
        for row, (path, token, value) in enumerate(rows):
            emission = Emission(token, value)
            if token == self._rules.eos_id and value > -math.inf and row not in forced:
                emission = Emission(None, value, "end")
            elif self._length == self._rules.limits[path // self._config.n_best] or value == -math.inf:
                emission = Emission(None, 0.0, "length")
            if emission.stop != "length":
                self._values[path].append(value)
                if weights is not None:
                    self._weights[path].append(weights[row])
            if emission.stop is None:
                self._tokens[path].append(token)
                alive.append(row)
            else:
                self._finish(path, emission)
            if row not in forced:
                emissions.append(emission)
        self._keep(alive, tokens)
        return emissions

    def _read_prefixes(self) -> bool:
        """Read the forced prefixes at once, where the model can."""
        every_step = self._attention or self._history is not None
        owners = self._paths // self._config.n_best
        beginning = None if every_step else read_beginning(self._model, self._rules, owners, self._state)
        if beginning is None:
            return False
        tokens, values, self._state = beginning
        self._inputs, self._length = tokens[:, -1], tokens.shape[1]
        self._tokens, self._values = tokens.tolist(), values.tolist()
        if self._sampler is not None:
            self._sampler.skip(self._length)
        return True

    def _next_tokens(self) -> tuple[Host, Host, list[int]]:
        """The next token of each row with its log-probability, and the rows whose token was forced."""
        rules, length = self._rules, self._length
        logits, self._state = self._model.step(self._arrays.integers(self._inputs), self._state)
        self._arrays = arrays_of(logits)
        log_probabilities = log_probabilities_of(self._model, logits)
        owners, paths = self._paths // self._config.n_best, self._paths.tolist()
        so_far = [self._tokens[path] for path in paths]
        if self._history is not None:
            totals = [math.fsum(self._values[path]) for path in paths]
            self._history.append(record(log_probabilities, owners.tolist(), so_far, totals))
        rows, forced_tokens, forced_values = rules.forced(log_probabilities, owners, length)
        rules.forbid(log_probabilities, owners, length, so_far)
        if self._sampler is not None:
            tokens, values = self._sampler(log_probabilities, paths, so_far)
        else:
            values, tokens = (each[:, 0] for each in self._arrays.top(log_probabilities, 1))
        tokens[rows], values[rows] = forced_tokens, forced_values
        return tokens, values, rows

    def _keep(self, alive: list[int], tokens: Host) -> None:
        """Continue with these rows after these tokens."""
        self._length += 1
        self._inputs = tokens
        if len(alive) < len(self._paths):
            rows = np.array(alive, dtype=np.int64)
            self._paths, self._inputs = self._paths[rows], tokens[rows]
            if alive:
                self._state = self._state.select(self._arrays.integers(rows))

    def _finish(self, path: int, emission: Emission) -> None:
        assert emission.stop is not None
        source = path // self._config.n_best
        length = len(self._sources[source]) if self._attention else None
        written = self._tokens[path], self._values[path], emission.stop
        self._finished[source].append(hypothesis(*written, self._config, self._weights[path], length, show=self._show))


def check_single_path(config: DecodeConfig, rules: Rules) -> None:
    """Refuse what only a beam can do."""
    if rules.has_required:
        raise UsageError(f"required words need beam search: got method={config.method}; use method=beam")
    if config.method == "greedy" and config.n_best > 1:
        raise UsageError(f"greedy search has one output: got n_best={config.n_best}; use method=beam or n_best=1")


def read_beginning(model: StepModel, rules: Rules, owners: Host, state: State) -> tuple[Host, Host, State] | None:
    """Tokens and log-probabilities [rows, length] of the forced prefixes, read at once as far as all rows have one.

    None if the model cannot; owners: the source of each row.
    """
    read = getattr(model, "read", None)
    prefixes = [rules.constraints[owner].prefix for owner in owners.tolist()]
    length = min(map(len, prefixes))
    if read is None or length < 2:
        return None
    tokens = np.array([prefix[:length] for prefix in prefixes])
    inputs = np.concatenate([np.full((len(tokens), 1), rules.bos_id), tokens[:, :-1]], axis=1)
    values, newer = read(inputs, tokens, state)
    return tokens, np.maximum(values, IMPOSSIBLE), newer


def record(log_probabilities: Array, owners: list[int], beams: Sequence[list[int]], totals: list[float]) -> StepRecord:
    values, tokens = arrays_of(log_probabilities).top(log_probabilities, NUM_SHOWN)
    copied = [list(tokens) for tokens in beams]
    return StepRecord(owners, copied, totals, tokens.tolist(), np.exp(values).tolist())
