"""Take the pictures and the film of `regard look` that the documents show: `python docs/screenshots.py`.

`python docs/screenshots.py ./SmolLM2-135M` takes that of the 2017 model beside a model of today, an imported one.
"""

from __future__ import annotations

import io
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from regard.folder.catalogue import find_model
from regard.look.view import look_at

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.conftest import OPTIONS  # noqa: E402
from browser.find_tools import find_browser  # noqa: E402

SENTENCE = "Jane apprend le français depuis deux ans."
CROSS = "decoder.layers.1.cross_attention"
MAX_BYTES = 250_000
MAX_FILM_BYTES = 2_000_000
FRAMES_PER_SECOND = 4


def attention(page: Page) -> None:
    """A number of the scores, taken apart."""
    canvas = page.locator("figure[data-title=weights] canvas")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    for key in ("Home", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#explanation [data-role=traced]")
    page.locator("#part-scores").evaluate("node => node.scrollIntoView()")


def wait_for_ranking(page: Page) -> None:
    page.get_by_text("each switched off alone").wait_for(timeout=60_000)


def what_if(page: Page) -> None:
    """The head that matters most, switched off."""
    wait_for_ranking(page)
    page.click("#do-heads-off")
    page.wait_for_selector("#part-result")


# name, view and state, window, what to do first
PICTURES: list[tuple[str, dict[str, Any], dict[str, Any], Any]] = [
    ("look", {"view": "attention-lines", "attention": CROSS, "step": 4, "heads": "layer"}, {}, None),
    ("overview", {"view": "overview", "step": 4}, {}, None),
    ("attention", {"view": "attention", "attention": "decoder.layers.0.self_attention", "step": 4}, {}, attention),
    ("heads", {"view": "heads"}, {}, None),
    ("positions", {"view": "positions"}, {}, None),
    ("output", {"view": "output", "step": 2}, {}, None),
    ("what-if", {"view": "what-if", "step": 4}, {}, what_if),
    ("tour", {"view": "overview", "tour": 4}, {}, None),
    ("dark", {"view": "output", "step": 4}, {"color_scheme": "dark"}, None),
    (
        "phone",
        {"view": "attention-lines", "attention": CROSS, "step": 4},
        {"viewport": {"width": 390, "height": 844}},
        None,
    ),
]


def take(browser: Browser, url: str, state: dict[str, Any], window: dict[str, Any], prepare: Any) -> bytes:
    options = {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light", **window}
    page = browser.new_page(**options, reduced_motion="reduce")
    page.goto(f"{url}#{urlencode(state)}")
    page.wait_for_selector("body[data-ready=true]")
    page.wait_for_selector("#panel[data-drawn]")
    if prepare:
        prepare(page)
    page.wait_for_timeout(600)
    picture = page.screenshot()
    page.close()
    return picture


def record(browser: Browser, url: str) -> bytes:
    """A film of twenty seconds: a translation is written, a number is taken apart, a head is switched off."""
    page = browser.new_page(viewport={"width": 1000, "height": 640}, color_scheme="light")
    page.goto(f"{url}#{urlencode({'view': 'overview', 'step': 0})}")
    page.wait_for_selector("#panel[data-drawn]")
    frames: list[Image.Image] = []

    def film(seconds: float) -> None:
        for _ in range(round(seconds * FRAMES_PER_SECOND)):
            begin = time.monotonic()
            frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
            page.wait_for_timeout(max(0, 1000 * (1 / FRAMES_PER_SECOND - time.monotonic() + begin)))

    film(1)
    page.click("#play")
    film(7)
    page.click("#tab-attention")
    page.wait_for_selector("figure[data-title=scores] canvas")
    film(1)
    page.locator("figure[data-title=scores] canvas").focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    film(4)
    page.click("#close-explanation")
    page.click("#tab-what-if")
    wait_for_ranking(page)
    film(2)
    page.click("#do-heads-off")
    page.wait_for_selector("#part-result")
    film(5)
    page.close()
    for colours in (64, 32, 16):
        palette = frames[0].quantize(colours)
        reduced = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
        out = io.BytesIO()
        duration = 1000 // FRAMES_PER_SECOND
        reduced[0].save(out, "GIF", save_all=True, append_images=reduced[1:], duration=duration, loop=0, optimize=True)
        if len(out.getvalue()) < MAX_FILM_BYTES:
            return out.getvalue()
    raise SystemExit("the film is too large even with few colours")


def small(picture: bytes) -> bytes:
    """As few colours as it takes to stay under the limit."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for colours in (256, 128, 64):
        out = io.BytesIO()
        image.quantize(colours, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if len(out.getvalue()) < MAX_BYTES:
            return out.getvalue()
    raise SystemExit("a picture is too large even with few colours")


def side_by_side(today: Path) -> bytes:
    """The figures of the bundled translator and of this model, and how both differ from the paper's."""
    look = look_at(find_model("fr-en"), "La capitale de la France est", compare=today, max_length=12)
    with look.serve() as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=find_browser(), args=OPTIONS)
        page = browser.new_page(viewport={"width": 1180, "height": 1500}, color_scheme="light")
        page.goto(f"{server.url}#view=compare")
        page.wait_for_selector("#panel ul.note")
        page.wait_for_timeout(600)
        place, last = (page.locator(each).first.bounding_box() for each in ("#panel .columns", "[data-run='1'] ul"))
        assert place and last
        place["height"] = last["y"] + last["height"] + 8 - place["y"]
        picture = page.screenshot(full_page=True, clip=place)  # type: ignore[arg-type]
        browser.close()
        server.shutdown()
    return picture


def main() -> None:
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    if len(sys.argv) == 2 and "/" in sys.argv[1]:
        (folder / "from-2017.png").write_bytes(small(side_by_side(Path(sys.argv[1]))))
        return
    wanted = set(sys.argv[1:])
    look = look_at(find_model("fr-en"), SENTENCE)
    with look.serve() as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=find_browser(), args=OPTIONS)
        for name, state, window, prepare in PICTURES:
            if wanted and name not in wanted:
                continue
            picture = small(take(browser, server.url, state, window, prepare))
            (folder / f"{name}.png").write_bytes(picture)
            print(f"{name}.png {len(picture):,} bytes")
        if not wanted or "film" in wanted:
            film = record(browser, server.url)
            (folder / "look.gif").write_bytes(film)
            print(f"look.gif {len(film):,} bytes")
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
