"""Requests made up from our own description of the interface, right and wrong, and from nothing at all."""

import json
from collections import Counter
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode


class Fuzz:
    """Counts the answers by status; what must not be is collected in `troubles`."""

    def __init__(self, url: str, spec: dict[str, Any], num_described: int, num_raw: int) -> None:
        self._url, self._spec = url, spec
        self._described, self._bare = _settings(num_described), _settings(num_raw)
        self._session = requests.Session()
        self._session.trust_env = False
        self.statuses: Counter[int] = Counter()
        self.troubles: list[str] = []

    def run(self) -> None:
        schema = schemathesis.openapi.from_dict(self._spec)
        for found in schema.get_all_operations():
            operation = found.ok()
            for mode in GenerationMode:
                try:
                    strategy = operation.as_strategy(generation_mode=mode)
                    self._described(given(strategy)(self._call))()
                except (schemathesis.errors.SchemathesisError, Unsatisfiable):
                    # A route without parameters cannot be asked wrongly.
                    assert mode is GenerationMode.NEGATIVE
            if operation.method == "post":
                self._bare(given(_bodies(), st.sampled_from(_KINDS))(self._raw(operation.path)))()

    def _call(self, case: Any) -> None:
        arguments = case.as_transport_kwargs(base_url=self._url)
        try:
            answer = self._session.request(**arguments, timeout=60)
        except (requests.exceptions.InvalidHeader, UnicodeEncodeError, requests.exceptions.InvalidURL):
            return
        self._check(case.path, answer)

    def _raw(self, path: str) -> Any:
        def call(body: bytes, kind: str) -> None:
            headers = {"Content-Type": kind}
            answer = self._session.post(self._url + path, body, headers=headers, timeout=60)
            self._check(path, answer)

        return call

    def _check(self, path: str, answer: requests.Response) -> None:
        self.statuses[answer.status_code] += 1
        if answer.status_code >= 500:
            self.troubles.append(f"{path}: {answer.status_code}")
        if answer.status_code >= 400:
            error = answer.json().get("error")
            shape = set(error) if isinstance(error, dict) else None
            openai = {"message", "type", "param", "code"} if path.startswith("/v1/") else None
            if shape != openai or not error:
                self.troubles.append(f"{path}: {error}")


def _settings(count: int) -> settings:
    options: Any = dict(deadline=None, database=None, derandomize=True, phases=[Phase.generate])
    return settings(max_examples=count, **options, suppress_health_check=list(HealthCheck))


_KINDS = [
    "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a",
    "multipart/form-data", "text/plain", "",
]  # fmt: skip

_NAMES = "q source target model messages prompt input n text alternatives stream".split()


def _bodies() -> st.SearchStrategy[bytes]:
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner),
        max_leaves=8,
    )
    written = st.dictionaries(st.sampled_from(_NAMES), values).map(lambda each: json.dumps(each).encode())
    return written | st.binary(max_size=200)
