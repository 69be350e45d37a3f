"""A real browser, and the bundled model's page of one sentence, served as `regard look` serves it.

Nothing but this machine can be reached: a request that goes anywhere else is aborted and fails the test, and so
does an error in the page's console or a breach of its security policy.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from browser.find_tools import find_browser
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Route, expect, sync_playwright
from web_fixtures import serving

from regard.folder.catalogue import find_model
from regard.look.run import Run
from regard.look.server import Server
from regard.look.view import Look, look_at

SENTENCE = "Jane visite l'Afrique en septembre."
OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
]  # fmt: skip
HERE = ("127.0.0.1", "localhost")
PATIENCE = 30_000
"""milliseconds, for machines that have much else to do"""
expect.set_options(timeout=PATIENCE)
WATCH = """window.breaches = [];
document.addEventListener("securitypolicyviolation", event =>
    window.breaches.push(`${event.violatedDirective}: ${event.blockedURI}`));"""


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser_path() -> str:
    path = find_browser()
    assert path, "a browser must be there: run ./check once, or python tests/browser/find_tools.py"
    return path


@pytest.fixture(scope="session")
def browser(playwright: Playwright, browser_path: str) -> Iterator[Browser]:
    started = playwright.chromium.launch(executable_path=browser_path, args=OPTIONS)
    yield started
    started.close()


@pytest.fixture(scope="session")
def look() -> Look:
    return look_at(find_model("fr-en"), SENTENCE)


@pytest.fixture(scope="session")
def run(look: Look) -> Run:
    """What the page must show: the run, its trace and its model."""
    return look.session.original


@pytest.fixture(scope="session")
def server(look: Look) -> Iterator[Server]:
    with serving(look.serve()) as started:
        yield started


@dataclass
class Window:
    """A browser window that knows what went wrong in it."""

    page: Page
    troubles: list[str] = field(default_factory=list)
    expected: str = "\0"
    """part of an error that the console may show"""

    def goto(self, address: str) -> Page:
        """The page of `look` at this address, loaded anew and drawn."""
        self.page.goto("about:blank")
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready=true]")
        self.page.wait_for_selector("#panel[data-drawn]")
        return self.page

    def check(self) -> None:
        assert self.troubles == []
        assert self.page.evaluate("window.breaches ?? []") == []


def open_window(browser: Browser, width: int = 1280, height: int = 900, **options: Any) -> Window:
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(WATCH)
    window = Window(context.new_page())

    def away(route: Route) -> None:
        window.troubles.append(f"asked for {route.request.url}")
        route.abort()

    def log(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and window.expected not in message.text:
            window.troubles.append(message.text)

    context.route(_is_away, away)
    window.page.on("pageerror", lambda error: window.troubles.append(str(error)))
    window.page.on("console", log)
    return window


@pytest.fixture
def windows(browser: Browser) -> Iterator[Callable[..., Window]]:
    """Opens windows of a test's own; whatever goes wrong in one fails the test."""
    opened: list[Window] = []

    def make(**options: Any) -> Window:
        opened.append(open_window(browser, **options))
        return opened[-1]

    yield make
    for window in opened:
        window.check()
        window.page.context.close()


@pytest.fixture(scope="session")
def shared_window(browser: Browser) -> Window:
    return open_window(browser)


@pytest.fixture
def window(shared_window: Window) -> Iterator[Window]:
    """The one window of all tests that need no other; whatever goes wrong in it fails the test."""
    shared_window.troubles.clear()
    shared_window.expected = "\0"
    yield shared_window
    shared_window.check()


@pytest.fixture
def show(window: Window, server: Server) -> Callable[..., Page]:
    """Opens the served page at a view; other parts of its address by name."""
    return lambda view="overview", **state: window.goto(address_of(server.url, view, **state))


@pytest.fixture(scope="session")
def saved(look: Look, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as one file."""
    path = tmp_path_factory.mktemp("saved") / "look.html"
    look.save(path)
    return path


def address_of(url: str, view: str, **state: Any) -> str:
    return f"{url}#{urlencode({'view': view, **state})}"


def _is_away(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme in ("data", "blob", "file", "about"):
        return False
    return parts.hostname not in HERE
