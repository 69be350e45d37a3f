"""The page's own engine in headless Chromium: seconds until the first translation of a file that was just opened, and tokens a
second from then on, at the model's own beam. The file has no network.

    python benchmarks/look_engine.py --save
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from record import save

from regard.folder.catalogue import find_model
from regard.look.view import look_at

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser.find_tools import find_browser

FIRST = "Le chat dort sur le lit."
SENTENCES = [
    "Le petit chat noir dort sur le grand lit de ma grand-mère depuis ce matin.",
    "Il pleut depuis hier et nous n'avons pas de parapluie.",
    "La directrice a dit que les résultats seraient publiés avant la fin de la semaine.",
]
TRANSLATE = """async (texts) => {
    const content = (id) => document.getElementById(id).textContent;
    const setup = JSON.parse(content("regard-models"));
    const { files } = setup.models[0];
    for (const file of [files.weights, files.source, files.target]) file.base64 = content(file.id);
    const worker = new Worker(URL.createObjectURL(new Blob([content("regard-engine")], { type: "text/javascript" })));
    worker.postMessage({ setup });
    const ask = (text) => new Promise((done) => {
        worker.onmessage = ({ data }) => done(data.found.sentences);
        worker.postMessage({ id: 1, address: "api/translate", body: { model: 0, text } });
    });
    for (let i = 0; i < 3; i++) await ask(texts[0]);
    let tokens = 0;
    const start = performance.now();
    for (const text of texts) for (const { candidates } of await ask(text)) tokens += candidates[0].tokens.length + 1;
    return tokens / ((performance.now() - start) / 1000);
}"""


def typed(page: Any, text: str) -> float:
    start = time.monotonic()
    page.fill("#ask-text", text)
    page.keyboard.press("Enter")
    page.locator("#sentence .from", has_text=text).wait_for()
    page.locator("#ask[aria-busy=false]").wait_for()
    return time.monotonic() - start


def measure(path: Path) -> list[dict[str, Any]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(offline=True)
        page = context.new_page()
        start = time.monotonic()
        page.goto(path.as_uri())
        page.locator("body[data-ready=true]").wait_for()
        ready = time.monotonic() - start
        typed(page, FIRST)
        rows = [{"what": "seconds until the page is drawn", "value": ready}]
        rows.append({"what": "seconds from opening to the first translation", "value": time.monotonic() - start})
        seconds = [typed(page, text) for text in SENTENCES]
        rows.append(
            {"what": "seconds for a text that is typed, every number drawn", "value": sum(seconds) / len(seconds)}
        )
        rows.append({"what": "tokens a second, beam 4", "value": page.evaluate(TRANSLATE, SENTENCES)})
        browser.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "look.html"
        look_at(find_model("fr-en"), FIRST).save(path)
        rows = [*measure(path), {"what": "megabytes of the file", "value": path.stat().st_size / 1e6}]
    for row in rows:
        print(f"{row['value']:8.2f}  {row['what']}")
    if arguments.save:
        save("look_engine", rows, {}, "playwright")


if __name__ == "__main__":
    main()
