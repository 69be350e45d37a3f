"""A site that translates in the browser: two models on a host that only hands out files."""

import re
from collections.abc import Callable
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from browser.conftest import Window
from browser.test_engine import Quiet
from playwright.sync_api import expect
from web_fixtures import serving

import regard
from regard.api import export
from regard.errors import UsageError


def test_it_translates_both_ways_and_opens_look(windows: Callable[..., Window], tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("fr-en", "en-fr"):
        export(name, site, to="web")
    given = "Bonjour, <b>Marie</b> ! Le chat dort."
    asked: list[str] = []
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))) as server:
        window = windows()
        page = window.page
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        page.wait_for_selector("body[data-ready=true]")
        page.select_option("#source-language", "fr")
        page.fill("#source", given)
        translated = regard.load("fr-en").translate(given)
        expect(page.locator("#result")).to_have_text(translated)
        page.click("#swap")
        expect(page.locator("#result")).to_have_text(regard.load("en-fr").translate(translated))
        page.locator("#result .sentence").last.click()
        expect(page.locator("#alternatives label")).to_have_count(4)
        with page.context.expect_page() as opened:
            page.click("#look")
        expect(opened.value.locator("#sentence .to")).to_have_text(re.compile("chat"))
        expect(opened.value.locator("#engine")).to_have_text("JavaScript engine")
        # What was fetched once is kept.
        asked.clear()
        page.reload()
        page.wait_for_selector("body[data-ready=true]")
        page.fill("#source", "The cat sleeps.")
        expect(page.locator("#result")).to_contain_text("chat")
        assert asked and not any("safetensors" in each for each in asked)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="a site is written into"):
        export("fr-en", tmp_path / "other", to="web")
    with pytest.raises(UsageError, match="as it is"):
        export("fr-en", site, to="web", weights="fp32")
