"""Short everyday sentences, each with the translations that are right: `python benchmarks/everyday.py --model fr-en`.

everyday/fr-en.tsv and en-fr.tsv hold kind TAB sentence TAB right translations, with bars between them; none of the
sentences stands in the training text of the bundled models. A translation that is not listed is for a person to judge:
judged.tsv keeps sentence TAB translation TAB right or wrong, so that nobody has to judge it again. What is not judged
yet counts as wrong, and `--to-judge` prints it in the form of that file. Apostrophes, spaces, contractions and `!` for
`.` make no difference; capitals, accents and all other punctuation do.

everyday/kinds_fr-en.tsv and kinds_en-fr.tsv (`--list kinds_`) hold 300 sentences of 18 kinds each, from messages to law,
written by someone who had not seen the training text; all is judged, as right, right but for a flaw, or wrong. Several models
are judged together: `--model fr-en opus-fr-en --to-judge` prints what they wrote, each text once, in an order that does not
tell whose it is.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import judging
import record

import regard

sys.path.append(str(Path(__file__).parents[1] / "recipes" / "text"))
from fr_en import plain, plain_french

HERE = Path(__file__).parent / "everyday"
JUDGED = HERE / "judged.tsv"
RIGHT, FLAW, WRONG = "right", "flaw", "wrong"

_CONTRACTIONS = (
    (re.compile(r"\bcan't\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"\b(it|that|there|what|who|where|how|he|she|here)'s\b(?= been| just| got)", re.IGNORECASE), r"\1 has"),
    (re.compile(r"\b(it|that|there|what|who|where|how|he|she|here)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(I|you|he|she|we|they)'d\b"), r"\1 would"),
)
# The question that a contracted negation asks stands in another order when it is written out.
_ASKED = re.compile(
    r"\b(do|does|did|are|is|have|has|will|would|could|should) not (I|you|he|she|it|we|they)\b", re.IGNORECASE
)


def normal(text: str, language: str) -> str:
    """The same for translations that differ in nothing that matters here.

    >>> normal("Don\\u2019t you come?", "en") == normal("Do you not come?", "en")
    True
    """
    text = plain_french(text) if language == "fr" else plain(text)
    text = text.replace("!", ".").replace(" .", ".")
    if language == "en":
        for pattern, written in _CONTRACTIONS:
            text = pattern.sub(written, text)
        text = _ASKED.sub(r"\1 \2 not", text)
    return text.replace("\u0153", "oe")


def read_list(name: str) -> list[tuple[str, str, list[str]]]:
    """Kind, sentence and right translations, if the list has any."""
    lines = (HERE / f"{name}.tsv").read_text("utf-8").splitlines()
    columns = [line.split("\t") for line in lines]
    return [(kind, sentence, right[0].split("|") if right else []) for kind, sentence, *right in columns]


def judge(name: str, translations: list[str]) -> list[dict[str, Any]]:
    """A row a sentence of the list; its verdict is empty where a person has to say it."""
    judged = judging.read_judged(JUDGED, (RIGHT, FLAW, WRONG))
    target = name.rpartition("-")[2]
    rows = []
    for (kind, sentence, right), translation in zip(read_list(name), translations, strict=True):
        known = normal(translation, target) in {normal(each, target) for each in right}
        verdict = RIGHT if known else judged.get((sentence, translation), judging.TO_JUDGE)
        rows.append({"kind": kind, "source": sentence, "translation": translation, "verdict": verdict})
    return rows


def print_rows(name: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["verdict"] != RIGHT:
            print(f"{row['verdict'] or 'to judge'}: {row['source']}\n    {row['translation']}")
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of_kind = [row["verdict"] for row in rows if row["kind"] == kind]
        print(f"# {kind}: {of_kind.count(RIGHT)} of {len(of_kind)}")
    counts = Counter(row["verdict"] or "to judge" for row in rows)
    others = ", ".join(f"{counts[each]} {each}" for each in (FLAW, WRONG, "to judge"))
    print(f"# {name}: {100 * counts[RIGHT] / len(rows):.1f} % right; {others} of {len(rows)}")


def main() -> None:
    parser = judging.options_of(__doc__, "fr-en", JUDGED)
    parser.add_argument("--list", default="", metavar="PREFIX", help="kinds_: the lists of 18 kinds")
    options = parser.parse_args()
    by_model = {}
    for name in options.model:
        model = regard.load(name)
        languages = f"{options.list}{model.manifest.source_language}-{model.manifest.target_language}"
        by_model[name] = judge(languages, model.translate([row[1] for row in read_list(languages)]))
    if options.to_judge:
        # Without the models' names, and each text once.
        rows = {(row["source"], row["translation"]): row for rows in by_model.values() for row in rows}
        places = {row["source"]: place for place, row in enumerate(next(iter(by_model.values())))}
        order = sorted(rows, key=lambda text: (places[text[0]], zlib.crc32(repr(text).encode())))
        judging.print_to_judge([rows[text] for text in order], "source", "translation")
        return
    saved = []
    for name, rows in by_model.items():
        print_rows(f"{name}, {languages}", rows)
        counts = Counter(row["verdict"] or "to_judge" for row in rows)
        summary = {"model": Path(name).name, **{each: counts[each] for each in (RIGHT, FLAW, WRONG, "to_judge")}}
        saved += [summary, *rows]
    if options.save:
        print(record.save(f"everyday_{languages}", saved, {}))


if __name__ == "__main__":
    main()
