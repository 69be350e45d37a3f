"""The text written for training, and the scripts beside it that make training files of it."""

import gzip
import lzma
import random
import re
import sys
from pathlib import Path

import dialogues
import distil_text
import pytest
import search_pairs
import written
from fr_en import key_of
from search_pairs import keywords, of_paragraph

from regard.data.lines import read_lines

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
PARAGRAPH = (
    "The lighthouse stood on the northern cliff. Nobody had lived there since the storm. "
    "Every evening a fisherman rowed across to light the lamp."
)
FRENCH, ENGLISH = (
    "Le phare se dressait depuis longtemps sur la falaise du nord.",
    "The lighthouse had long been standing on the northern cliff.",
)


def run(script: object, monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["script", *map(str, words)])
    script.main()


def packed_lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_written_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "held.fr").write_text("Il y a une personne dans la salle.\nBonne nuit, les petits !\n")
    (tmp_path / "held.en").write_text("Good night, little ones.\n")
    held_out = ("--held-out", tmp_path / "held.fr", "--held-out", tmp_path / "held.en")
    run(written, monkeypatch, tmp_path / "made.tsv.gz", *held_out)
    found = packed_lines(tmp_path / "made.tsv.gz")
    assert len(found) == len(set(found)) > 70_000
    assert {"Bonjour !\tHello!", "Bonjour !\tGood morning!"} <= {*found}
    assert "Bonne nuit, les petits.\tGood night, little ones." not in found
    assert all(line.count("\t") == 1 and not re.search(r"[|{}]", line) for line in found)


@pytest.mark.parametrize("languages", ["fr-en", "en-fr"])
def test_no_drill_is_a_sentence_that_models_are_judged_by(languages: str) -> None:
    rows = [line.split("\t") for line in read_lines(BENCHMARKS / "everyday" / f"{languages}.tsv")]
    judged = {key_of(sentence) for _, sentence, _ in rows}
    drills = [line.split("\t") for line in read_lines(written.HERE / "drills.tsv")]
    assert not judged & {key_of(side) for pair in drills for side in pair}


def plain(text: str) -> str:
    return search_pairs.unicodedata.normalize("NFD", text.lower()).encode("ascii", "ignore").decode()


@pytest.mark.parametrize("seed", range(3))
def test_a_query_finds_the_text_it_was_made_of(seed: int) -> None:
    words = keywords(FRENCH, random.Random(seed)).split()
    assert 2 <= len(words) <= 6
    assert all(plain(word) in plain(FRENCH) and len(word) > 4 for word in words)
    assert keywords("Oui, bien sûr.", random.Random(seed)) == ""
    found = list(of_paragraph(PARAGRAPH, random.Random(seed)))
    assert 1 <= len(found) <= 2
    for query, passage in found:
        assert all(sentence in PARAGRAPH for sentence in passage.split(". "))
        assert plain(query.split()[0]) in plain(PARAGRAPH)
    assert list(of_paragraph("# The Lighthouse", random.Random(seed))) == []


def test_the_file_of_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "texts.txt").write_text(f"{PARAGRAPH}\n# Title\nShort.\n")
    (tmp_path / "chat.tsv").write_text("a b\tc d\te f\tg h\n" + "x\ty\tz\tw\n")
    (tmp_path / "held.txt").write_text("z\n")
    files = (tmp_path / "texts.txt", tmp_path / "chat.tsv", "--held-out", tmp_path / "held.txt")
    run(search_pairs, monkeypatch, *files, "--output", tmp_path / "pairs.gz")
    lines = packed_lines(tmp_path / "pairs.gz")
    assert "a b\tc d" in lines and not any(line.startswith("x\t") for line in lines)


def test_the_files_of_dialogues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tmp_path / "talk.tsv"
    small.write_text("### a\nI'm {person}|{person}\tHi, {person}.\n")
    monkeypatch.setattr(dialogues.small_talk, "__defaults__", (1, small))
    lines = [f"Film {number} was good.\tI liked number {number}." for number in range(300)]
    (tmp_path / "raw.tsv").write_text("\n".join(lines) + "\n")
    run(dialogues, monkeypatch, tmp_path / "raw.tsv", "--output", tmp_path / "chat")
    kept = packed_lines(tmp_path / "chat" / "dialogues.tsv.gz")
    valid = (tmp_path / "chat" / "valid.reply").read_text().splitlines()
    assert len(kept) + len(valid) == 300 and 0 < len(valid) < 20
    for line in packed_lines(tmp_path / "chat" / "small-talk.tsv.gz"):
        context, reply = line.split("\t")
        assert re.sub(r"Hi, |\.", "", reply).lower() in context.lower() and "{" not in line


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
    monkeypatch.setattr(distil_text, "written_pairs", lambda: [("Je ne l'ai pas vu hier.", "I didn't see it.")] * 2)
    run(distil_text, monkeypatch, corpora, output)
    found = {path.name: lzma.decompress(path.read_bytes()).decode().splitlines() for path in output.iterdir()}
    assert sorted(found["en.other.txt.xz"]) == sorted([PARAGRAPH, ENGLISH]) and found["en.wiki.txt.xz"] == []
    assert {line.split("\t")[1] for line in found["human.fr-en.tsv.xz"]} == {"He's asleep.", "I didn't see it."}
    assert all("Jamais" not in line for lines in found.values() for line in lines)
    hasty = {distil_text.in_haste("Je ne l'ai pas vu hier.", "fr", random.Random(seed)) for seed in range(30)}
    assert {"je l'ai pas vu hier", "je ne lai pas vu hier"} & hasty and len(hasty) > 8
