"""Train the lesson learn-reverse and take the pictures of watch-it-learn.md: `python docs/learn_pictures.py [RUN]`."""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from regard.look.view import look_at
from regard.train.recipe import read_recipe
from regard.train.run import train
from regard.train.snapshots import list_snapshots

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.conftest import OPTIONS  # noqa: E402
from browser.find_tools import find_browser  # noqa: E402

TEXT, ANSWER = "a b c d e f", "f e d c b a"
CROSS = "decoder.layers.0.cross_attention"


def slide(page: Page, stop: int) -> None:
    drawn = page.locator("#panel").get_attribute("data-drawn")
    move = "(slider, stop) => { slider.value = stop; slider.dispatchEvent(new Event('input')); }"
    page.locator("#snapshot").evaluate(move, stop)
    page.wait_for_function("drawn => document.getElementById('panel').dataset.drawn !== drawn", arg=drawn)


def take(page: Page, url: str, steps: list[int]) -> None:
    def opened(view: str, **state: Any) -> None:
        page.goto("about:blank")
        page.goto(f"{url}#{urlencode({'view': view, **state})}")
        page.wait_for_selector("#panel[data-drawn]")

    def saved(name: str) -> None:
        page.screenshot(path=ROOT / "docs" / "images" / f"{name}.png")

    opened("learning")
    slide(page, len(steps) * 2 // 3)
    saved("learn-run")
    page.fill("#reference", ANSWER)
    page.click("#take-step")
    page.wait_for_selector("#gradient")
    page.locator("#panel h3", has_text="One training step").scroll_into_view_if_needed()
    page.locator("#panel figure.matrix canvas").first.press("Enter")
    page.wait_for_selector("#explanation [data-role=traced]")
    saved("learn-step")
    for name, stop in (("learn-early", len(steps) // 2), ("learn-late", len(steps) - 1)):
        opened("attention-lines", attention=CROSS, heads="layer", step=5)
        slide(page, stop)
        saved(name)


def main() -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        run = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(place) / "reverse"
        if not run.exists():
            train(read_recipe("learn-reverse"), run)
        server = look_at(run, TEXT).serve()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=find_browser(), args=OPTIONS)
        page = browser.new_page(viewport={"width": 1180, "height": 820}, reduced_motion="reduce")
        take(page, server.url, list_snapshots(run))
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
