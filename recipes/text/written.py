"""The French and English pairs of this folder as one training file.

    python recipes/text/written.py data/prepared/fr-en/written.tsv.gz --held-out newstest2013.fr --vary

Bars in phrases.tsv separate ways of saying the same: every French one is paired with every English one. Some pairs are
written a second time in capitals or in lower case.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

from fr_en import as_typed, is_held_out, key_of

from regard.data.lines import read_lines

HERE = Path(__file__).parent
FILES = ("phrases.tsv", "words.tsv", "drills.tsv")
CAPITALS_SHARE, LOWER_SHARE = 0.05, 0.03


def pairs() -> Iterator[tuple[str, str]]:
    """Every pair of the files; a line that begins with # is a heading."""
    for name in FILES:
        for line in read_lines(HERE / name):
            if line and not line.startswith("#"):
                french, english = (side.split("|") for side in line.split("\t"))
                yield from itertools.product(french, english)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="file to write, gzipped")
    parser.add_argument("--held-out", type=Path, action="append", default=[])
    parser.add_argument("--vary", action="store_true", help="spell the French in many ways")
    options = parser.parse_args()
    held_out = {key_of(line) for path in options.held_out for line in read_lines(path)}
    found = [pair for pair in dict.fromkeys(pairs()) if not is_held_out(*pair, held_out)]
    draw = random.Random(1)
    others = []
    for french, english in found:
        chance = draw.random()
        if chance < CAPITALS_SHARE:
            others.append((french.upper(), english.upper()))
        elif chance < CAPITALS_SHARE + LOWER_SHARE:
            others.append((french.lower(), english.lower()))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(options.output, "wt", encoding="utf-8", newline="\n") as output:
        for french, english in dict.fromkeys((*found, *others)):
            output.write(f"{as_typed(french) if options.vary else french}\t{english}\n")


if __name__ == "__main__":
    main()
