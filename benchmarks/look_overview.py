"""How long the page of `regard look` takes to fetch and paint every head of every layer at a glance.

    python benchmarks/look_overview.py [--save]

A random model of 12 + 12 layers with 16 heads over 60 source and 60 target tokens: three overviews of 192 heads.
Measured in the page, from the click to the frame after the last canvas is painted; there is no peer, so the ratio
is to the second that the page may take.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import torch
from playwright.sync_api import Browser, sync_playwright

import regard
from regard.config import DecodeConfig
from regard.folder.catalogue import find
from regard.look.server import Server
from regard.look.session import Session
from regard.look.subject import Subject
from regard.model.transformer import build

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.conftest import OPTIONS  # noqa: E402
from browser.find_tools import find_browser  # noqa: E402

NUM_TOKENS, NUM_LAYERS, NUM_HEADS = 60, 12, 16
ALLOWED_SECONDS = 1.0
NUM_RUNS = 5

PAINT = """async () => {
    const start = performance.now();
    document.getElementById("tab-heads").click();
    await new Promise(done => {
        const look = () => {
            const painted = [...document.querySelectorAll("canvas.atlas")].filter(each => each.style.width);
            requestAnimationFrame(painted.length === 3 ? done : look);
        };
        look();
    });
    return (performance.now() - start) / 1000;
}"""


def make_session() -> Session:
    """The bundled model's tokenizer and vocabulary, random weights, and as many tokens as the measure asks."""
    subject = Subject.open(find("fr-en"))
    config = replace(
        subject.config,
        num_encoder_layers=NUM_LAYERS,
        num_decoder_layers=NUM_LAYERS,
        num_heads=NUM_HEADS,
        d_model=8 * NUM_HEADS,
        d_ff=16 * NUM_HEADS,
    )
    torch.manual_seed(1)
    network = build(config).eval()
    manifest = replace(subject.manifest, model=config)
    random = Subject("random", manifest, network, subject.source, subject.target)
    text = "le"
    while len(random.source.encode(text)) + 1 < NUM_TOKENS:
        text += " le"
    decode = DecodeConfig(beam=1, max_length=NUM_TOKENS - 1)
    return Session(random, text, decode)


def measure(browser: Browser, url: str) -> tuple[float, float]:
    """Seconds on a fresh page, weights fetched and painted; and once more with the weights there."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{url}#view=positions")
    page.wait_for_selector("body[data-ready=true]")
    page.wait_for_selector("#panel[data-view=positions]")
    first = page.evaluate(PAINT)
    page.click("#tab-positions")
    page.wait_for_selector("#panel[data-view=positions]")
    again = page.evaluate(PAINT)
    page.close()
    return first, again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    save = parser.parse_args().save
    session = make_session()
    weights = session.original.trace[f"encoder.layers.{NUM_LAYERS - 1}.self_attention.weights"]
    assert weights.shape == (NUM_HEADS, NUM_TOKENS, NUM_TOKENS)
    with Server(session) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=find_browser(), args=OPTIONS)
        version = browser.version
        seconds = [measure(browser, server.url) for _ in range(NUM_RUNS)]
        browser.close()
        server.shutdown()
    rows = [
        {"what": what, "median_s": round(statistics.median(each), 3), "worst_s": round(max(each), 3)}
        for what, each in zip(("fetch and paint", "paint again"), zip(*seconds, strict=True), strict=True)
    ]
    ratios = {"look_overview_vs_1s": round(ALLOWED_SECONDS / float(rows[0]["median_s"]), 2)}
    print(f"{NUM_TOKENS} tokens x {NUM_LAYERS} layers x {NUM_HEADS} heads, 3 kinds of attention")
    for row in rows:
        print(f"{row['what']:<16} median {row['median_s']:.3f} s, worst {row['worst_s']:.3f} s")
    for name, ratio in ratios.items():
        print(f"{name:<24} {ratio:.2f}")
    if save:
        write(rows, ratios, version)


def write(rows: list[dict[str, object]], ratios: dict[str, float], chromium: str) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = {
        "benchmark": "look_overview",
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "hardware": f"{os.cpu_count()} CPU cores, {platform.machine()}",
        "versions": {
            "regard": regard.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "chromium": chromium,
        },
        "rows": rows,
        "ratios": ratios,
    }
    path = ROOT / "benchmarks" / "results" / "look_overview.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
