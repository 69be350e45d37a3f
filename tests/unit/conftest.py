"""A corpus that many train on, what a model folder says of itself, and the server of `web_fixtures`, running."""

from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer

import pytest
from train_fixtures import counting_corpus
from web_fixtures import Handler, Web, serving

from regard.config import DataConfig, DecodeConfig, ModelConfig
from regard.folder.manifest import Manifest


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> DataConfig:
    return counting_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.web = Web(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
    with serving(server):
        yield server.web  # type: ignore[attr-defined]


@pytest.fixture
def manifest(tiny_config: Callable[..., ModelConfig]) -> Manifest:
    return Manifest(model=tiny_config(), source_language="fr", target_language="en", decode=DecodeConfig(beam=5))
