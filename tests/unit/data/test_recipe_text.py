"""The text written for training, and the scripts beside it that make training files of it."""

import lzma
import random
import sys
from pathlib import Path

import distil_text
import pytest
import written
from fr_en import key_of

from regard.data.lines import read_lines

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
PARAGRAPH = (
    "The lighthouse stood on the northern cliff. Nobody had lived there since the storm. "
    "Every evening a fisherman rowed across to light the lamp."
)
FRENCH = "Le phare se dressait depuis longtemps sur la falaise du nord."
ENGLISH = "The lighthouse had long been standing on the northern cliff."


def run(script: object, monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["script", *map(str, words)])
    script.main()


@pytest.mark.parametrize("languages", ["fr-en", "en-fr"])
def test_no_drill_is_a_sentence_that_models_are_judged_by(languages: str) -> None:
    rows = [line.split("\t") for line in read_lines(BENCHMARKS / "everyday" / f"{languages}.tsv")]
    judged = {key_of(sentence) for _, sentence, _ in rows}
    drills = [line.split("\t") for line in read_lines(written.HERE / "drills.tsv")]
    assert not judged & {key_of(side) for pair in drills for side in pair}


def test_text_to_distil_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpora, output = tmp_path / "corpora", tmp_path / "out"
    (corpora / "fr-en").mkdir(parents=True)
    (corpora / "mono").mkdir()
    tested = "We have never seen the harbour by night."
    (corpora / "fr-en" / "newstest9.en").write_text(f"{tested}\n")
    held_out = read_lines(BENCHMARKS / "heldout" / "haste_en-fr.tsv")[0].split("\t")[0]
    lines = [tested, tested.upper(), held_out, PARAGRAPH, "See https://a.org now.", "too short", ENGLISH, ENGLISH]
    (corpora / "mono" / "en.novel.txt.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    pairs = [f"{FRENCH}\t{ENGLISH}\tdocs-x", f"Jamais vu.\t{tested}\ttatoeba", "Il dort déjà.\tHe's asleep.\ttatoeba"]
    (corpora / "fr-en" / "a.tsv.xz").write_bytes(lzma.compress("\n".join(pairs).encode()))
    monkeypatch.setattr(distil_text, "HERE", tmp_path)
    for languages in ("fr-en", "en-fr"):
        (tmp_path / f"casual_{languages}.tsv").write_text(f"{tested}\tseen\ncasual\tplain {languages}\n")
    monkeypatch.setattr(distil_text, "written_pairs", lambda: [("Je ne l'ai pas vu hier.", "I didn't see it.")] * 2)
    run(distil_text, monkeypatch, corpora, output)
    found = {path.name: lzma.decompress(path.read_bytes()).decode().splitlines() for path in output.iterdir()}
    assert sorted(found["en.other.txt.xz"]) == sorted([PARAGRAPH, ENGLISH]) and found["en.wiki.txt.xz"] == []
    assert {line.split("\t")[1] for line in found["human.fr-en.tsv.xz"]} == {
        "He's asleep.", "I didn't see it.", "plain fr-en",
    }  # fmt: skip
    assert all("Jamais" not in line for lines in found.values() for line in lines)
    hasty = {distil_text.in_haste("Je ne l'ai pas vu hier.", "fr", random.Random(seed)) for seed in range(30)}
    assert {"je l'ai pas vu hier", "je ne lai pas vu hier"} & hasty and len(hasty) > 8
