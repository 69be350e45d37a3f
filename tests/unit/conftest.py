"""What many share: a server of models, a corpus, a manifest, and the server of `web_fixtures`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from train_fixtures import counting_corpus
from web_fixtures import Handler, Web, serving

from regard.api import Model, load
from regard.config import DataConfig, DecodeConfig, ModelConfig
from regard.folder.manifest import Manifest

if TYPE_CHECKING:
    from serve_fixtures import Running


@pytest.fixture(scope="session")
def bundled() -> Model:
    """French to English."""
    return load("fr-en")


@pytest.fixture(scope="session")
def server(folders: list[Path]) -> Iterator[Running]:
    from serve_fixtures import running

    with running(folders) as started:
        yield started


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


@pytest.fixture(scope="session", params=[None, "cpu"], ids=["numpy", "torch"])
def device(request: pytest.FixtureRequest) -> str | None:
    """Which arrays a toy model speaks."""
    return request.param


@pytest.fixture
def manifest(tiny_config: Callable[..., ModelConfig]) -> Manifest:
    return Manifest(model=tiny_config(), source_language="fr", target_language="en", decode=DecodeConfig(beam=5))
