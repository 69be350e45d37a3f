"""Words that a translator invents: those of its output that neither its training text nor the source has.

    python benchmarks/invented_words.py --model fr-en --text runs/fr-en/pairs.tsv --text human.fr-en.tsv.xz newstest2013.fr

Words are compared in small letters, without accents and without their endings "s" and "'s"; one that joins known words by
hyphens is known. Numbers are none. The sources are translated sentence by sentence as `regard translate` does.
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from collections import Counter
from pathlib import Path

from record import save

import regard
from regard.data.lines import decode, raw_lines

_WORD = re.compile(r"[^\W\d_]+")


def words(text: str) -> list[str]:
    folded = "".join(sign for sign in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(sign))
    return [word.removesuffix("s") for word in _WORD.findall(folded)]


def known_words(paths: list[Path]) -> set[str]:
    """All words of the training text, both sides of pairs: a name is written as the source has it."""
    return {word for path in paths for line in raw_lines(path) for word in words(decode(line)[0])}


def invented(sources: list[str], outputs: list[str], known: set[str]) -> list[list[str]]:
    """For each output its words that are neither known nor in its source."""
    return [
        [word for word in words(output) if word not in known and word not in words(source)]
        for source, output in zip(sources, outputs, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", type=Path, nargs="+", help="files of sentences, one a line")
    parser.add_argument("--model", action="append", required=True, help="a name or folder; each is measured")
    parser.add_argument("--text", type=Path, action="append", required=True, help="training text, both languages")
    parser.add_argument("--limit", type=int, default=3000, help="sentences, spread over the files")
    parser.add_argument("--show", type=int, default=20, help="invented words to print")
    parser.add_argument("--save", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    lines = [decode(line)[0] for path in options.sources for line in raw_lines(path)]
    lines = [line for line in lines if line.strip()][:: max(len(lines) // options.limit, 1)][: options.limit]
    known = known_words(options.text)
    rows = []
    for name in options.model:
        found = invented(lines, regard.load(name).translate(lines), known)
        count = Counter(word for each in found for word in each)
        rows.append({"model": Path(name).name, "sentences": len(lines), "words": sum(count.values())})
        rows[-1]["sentences with one"] = sum(map(bool, found))
        print(rows[-1], ", ".join(word for word, _ in count.most_common(options.show)))
    if options.save:
        save(options.save, rows, {})


if __name__ == "__main__":
    main()
