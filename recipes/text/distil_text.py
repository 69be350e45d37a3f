"""The text that the bundled translators are distilled from, out of corpora in one folder.

    python recipes/text/distil_text.py CORPORA data/distil

CORPORA holds fr-en/*.tsv.xz (French TAB English TAB domain), mono/en.NAME.txt.xz and mono/fr.NAME.txt.xz, and the test sets
fr-en/newstest*, tatoeba-dev*, europarl-dev* and multi30k/. No sentence of a test set or of benchmarks/ is in what is written:

    en.wiki.txt.xz, en.other.txt.xz, fr.txt.xz   sentences for the teachers, broad text first
    en.back.txt.xz                               English that has no French beside it, to be translated into French first
    human.fr-en.tsv.xz, human.en-fr.tsv.xz       people's pairs, source TAB target, some sources as typed in haste
"""

from __future__ import annotations

import argparse
import lzma
import random
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fr_en import _flaw, as_typed, key_of, plain, plain_french
from written import pairs as written_pairs

from regard.data.lines import decode, raw_lines

HERE = Path(__file__).parent
BENCHMARKS = HERE.parents[1] / "benchmarks"
HUMAN = ("tatoeba", "phrases", "chat", "news", "talks", "health")
"""domains whose pairs are people's and good; the other pairs give sentences to the teachers"""
SHARES = {
    "en.wikipedia": 42,
    "en.dialogue-sgd": 45,
    "fr.theatre-cv": 60,
    "en.europarl": 25,
    "fr.europarl": 35,
    "en.docs": 45,
    "fr.docs": 60,
}
"""per cent of a large source that is taken; of the others everything"""
NOISY_SHARE, CAPITALS_SHARE = 0.25, 0.02
WIKI_BACK = 420_000
"""sentences of the encyclopaedia among those that are translated into French first"""
_MIN_WORDS, _MAX_WORDS, _MAX_CHARACTERS, _MIN_LETTERS = 3, 60, 350, 0.7
_ODD = re.compile(r"[<>{}\\|_=#*~^@\x00-\x1f\ufffd\u0370-\u1dff\u2e80-\uffff]|https?:|www\.|Ã|â€")
_HASTE = {
    "fr": "salut slt,s'il te plaît stp,s'il vous plaît svp,beaucoup bcp,pourquoi pk,quelqu'un qqn,quelque chose qqch,"
    "toujours tjrs,rendez-vous rdv,tout le monde tlm,parce que pcq,bonjour bjr,bonsoir bsr,je ne sais pas jsp,"
    "vraiment vrmt,maintenant mtn,c'est c,je suis chui,tu es t,quand qd,aujourd'hui ajd,d'accord dac,problème pb",
    "en": "you u,are r,please pls,thanks thx,because cuz,tomorrow tmrw,before b4,great gr8,going to gonna,want to wanna,"
    "I don't know idk,people ppl,message msg,see you cu,your ur,to be honest tbh,right now rn,about abt,though tho",
}
_SHORT = {
    language: {long: short for long, _, short in (each.rpartition(" ") for each in table.split(","))}
    for language, table in _HASTE.items()
}
_LONG = {language: re.compile(rf"\b(?:{'|'.join(short)})\b", re.IGNORECASE) for language, short in _SHORT.items()}


def lines_of(path: Path) -> Iterator[str]:
    return (text for line in raw_lines(path) for text in [decode(line)[0]] if text)


def held_out(corpora: Path) -> set[int]:
    """Keys of all sentences that are tested on."""
    tests = [
        *(corpora / "fr-en").glob("*test*.??"),
        *(corpora / "fr-en").glob("*-dev.??"),
        *(corpora / "multi30k").glob("*test*"),
    ]
    keys = {key_of(line) for path in tests for line in lines_of(path)}
    ours = [*BENCHMARKS.glob("heldout/*.tsv"), *BENCHMARKS.glob("everyday/*.tsv")]
    # The sentence is the first column, or the second after the kind of sentence.
    return keys | {key_of(column) for path in ours for line in lines_of(path) for column in line.split("\t")[:2]}


def is_usable(text: str) -> bool:
    words = text.split()
    letters = sum(map(str.isalpha, text)) / (len(text) - len(words) + 1)
    is_short = len(words) <= _MAX_WORDS and len(text) <= _MAX_CHARACTERS
    return _MIN_WORDS <= len(words) and is_short and letters >= _MIN_LETTERS and not _ODD.search(text)


def in_haste(text: str, language: str, draw: random.Random) -> str:
    """As people type on a telephone: small letters, no accents or apostrophes, short forms, letters swapped."""
    if draw.random() < 0.5:
        text = _LONG[language].sub(
            lambda match: _SHORT[language].get(match[0], _SHORT[language].get(match[0].lower(), match[0])), text
        )
    if language == "fr" and draw.random() < 0.4:
        text = re.sub(r"\b(?:ne |n')(?=\w)", "", text)
    if draw.random() < 0.5:
        text = "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
    if draw.random() < 0.4:
        text = re.sub(r"(?<=\w)'(?=\w)", "" if language == "en" else draw.choice(["", " "]), text)
    if draw.random() < 0.7:
        text = text.lower() if draw.random() < 0.8 else text[:1].lower() + text[1:]
    if draw.random() < 0.6:
        text = re.sub(r"\s*[.!,]+$", "", text)
    words = text.split(" ")
    place = draw.randrange(len(words))
    if len(words[place]) > 4 and draw.random() < 0.3:
        at = draw.randrange(1, len(words[place]) - 2)
        word = words[place]
        words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    elif len(words[place]) > 2 and draw.random() < 0.1:
        words[place] = re.sub(r"([aeiouy])(\W*)$", lambda match: match[1] * draw.randint(3, 5) + match[2], words[place])
    return " ".join(words)


def versions(source: str, target: str, language: str) -> Iterator[tuple[str, str]]:
    """A pair, and for some a second one typed in haste or all in capitals."""
    yield (as_typed(source) if language == "fr" else source), target
    draw = random.Random(zlib.crc32(source.encode()))
    if draw.random() < NOISY_SHARE:
        yield in_haste(source, language, draw), target
    elif draw.random() < CAPITALS_SHARE:
        yield source.upper(), target.upper()


def write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with lzma.open(path, "wt", encoding="utf-8", newline="\n", preset=4) as file:
        for count, line in enumerate(lines, start=1):  # noqa: B007
            file.write(line + "\n")
    print(f"{path}: {count:,} lines", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    tested = held_out(options.corpora)
    seen = {"fr": set(tested), "en": set(tested)}
    human: list[tuple[str, str]] = []
    counts: Counter[str] = Counter()
    texts: dict[str, list[str]] = {"en.wiki": [], "en.other": [], "fr": [], "en.back": []}

    def add(text: str, language: str, name: str, is_alone: bool = False) -> None:
        if zlib.crc32(text.encode()) % 100 >= SHARES.get(f"{language}.{name}", 100):
            return
        text = plain_french(text) if language == "fr" else plain(text)
        key = key_of(text)
        counts["in a test set"] += key in tested
        if key in seen[language] or not is_usable(text):
            return
        seen[language].add(key)
        counts[f"{language}.{name}"] += 1
        texts[language if language == "fr" else "en.wiki" if name == "wikipedia" else "en.other"].append(
            as_typed(text) if language == "fr" else text
        )
        if is_alone and name != "wikipedia":
            texts["en.back"].append(text)

    seen_pairs: set[int] = set()

    def add_human(french: str, english: str, name: str) -> None:
        keys = key_of(french), key_of(english)
        is_tested = not tested.isdisjoint(keys)
        counts["pairs in a test set"] += is_tested
        if is_tested or hash(keys) in seen_pairs:
            return
        seen_pairs.add(hash(keys))
        counts[f"pairs {name}"] += 1
        human.append((french, english))

    for french, english in written_pairs():
        add_human(french, english, "written")
    for path in sorted((options.corpora / "fr-en").glob("*.tsv.xz")):
        for line in lines_of(path) if "research" not in path.name else ():
            french, english, domain = line.split("\t")
            name = re.split("[-/]", domain)[0]
            if name in HUMAN:
                french, english = plain_french(french), plain(english)
                if not _flaw(french, english):
                    add_human(french, english, name)
            elif name != "phrases_pivot":
                add(french, "fr", name)
                add(english, "en", name)
    for path in sorted((options.corpora / "mono").glob("*.txt.xz")):
        language, name = path.name.removesuffix(".txt.xz").split(".", 1)
        for line in lines_of(path):
            add(line, language, name, is_alone=language == "en")
    draw = random.Random(1)
    for name, lines in texts.items():
        draw.shuffle(lines)
        if name == "en.back":
            lines += texts["en.wiki"][:WIKI_BACK]
            draw.shuffle(lines)
        write(options.output / f"{name}.txt.xz", lines)
    for direction, each in (("fr-en", human), ("en-fr", [pair[::-1] for pair in human])):
        made = [pair for source, target in each for pair in versions(source, target, direction[:2])]
        # What nobody should write: only as a source.
        casual = [line.split("\t") for line in lines_of(HERE / f"casual_{direction}.tsv")]
        made += [(source, target) for source, target in casual if key_of(source) not in tested]
        draw.shuffle(made)
        write(options.output / f"human.{direction}.tsv.xz", (f"{source}\t{target}" for source, target in made))
    print("\n".join(f"{name}: {count:,}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
