"""Take the picture of the page of `regard serve` that the documents show: `python docs/serve_screenshot.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from regard.folder.catalogue import find

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.conftest import OPTIONS  # noqa: E402
from browser.find_tools import find_browser  # noqa: E402
from serve_fixtures import running  # noqa: E402

TEXT = """Jane apprend le français depuis deux ans. Elle prend le train de nuit.

Le chat dort devant la maison, et il ne veut pas être dérangé."""


def main() -> None:
    with running([find("fr-en")]) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=OPTIONS)
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.goto(server.url)
        page.fill("#source", TEXT)
        page.locator(".sentence").nth(1).click()
        page.locator(".way").nth(2).wait_for()
        page.locator(".word", has_text="French").hover()
        page.screenshot(path=ROOT / "docs" / "images" / "serve.png")
        browser.close()


if __name__ == "__main__":
    main()
