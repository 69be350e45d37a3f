"""Short everyday sentences, each with the translations that are right: `python benchmarks/everyday.py --model fr-en`.

everyday/fr-en.tsv and en-fr.tsv hold kind TAB sentence TAB right translations, with bars between them; none of the
sentences stands in the training text of the bundled models. A translation that is not listed is for a person to judge:
judged.tsv keeps sentence TAB translation TAB right or wrong, so that nobody has to judge it again. What is not judged
yet counts as wrong, and `--to-judge` prints it in the form of that file. Apostrophes, spaces, contractions and `!` for
`.` make no difference; capitals, accents and all other punctuation do.
"""

from __future__ import annotations

import re
import sys
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
RIGHT, WRONG = "right", "wrong"

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


def read_list(languages: str) -> list[tuple[str, str, list[str]]]:
    """Kind, sentence and right translations."""
    rows = []
    for line in (HERE / f"{languages}.tsv").read_text("utf-8").splitlines():
        kind, sentence, right = line.split("\t")
        rows.append((kind, sentence, right.split("|")))
    return rows


def judge(languages: str, translations: list[str]) -> list[dict[str, Any]]:
    """A row a sentence; its verdict is empty where a person has to say it."""
    judged = judging.read_judged(JUDGED, (RIGHT, WRONG))
    target = languages.partition("-")[2]
    rows = []
    for (kind, sentence, right), translation in zip(read_list(languages), translations, strict=True):
        known = normal(translation, target) in {normal(each, target) for each in right}
        verdict = RIGHT if known else judged.get((sentence, translation), judging.TO_JUDGE)
        rows.append({"kind": kind, "source": sentence, "translation": translation, "verdict": verdict})
    return rows


def main() -> None:
    options = judging.parse_options(__doc__, "fr-en", JUDGED)
    model = regard.load(options.model)
    languages = f"{model.manifest.source_language}-{model.manifest.target_language}"
    rows = judge(languages, model.translate([row[1] for row in read_list(languages)]))
    if options.to_judge:
        judging.print_to_judge(rows, "source", "translation")
    else:
        for row in rows:
            if row["verdict"] != RIGHT:
                print(f"{row['verdict'] or 'to judge'}: {row['source']}\n    {row['translation']}")
    counts = Counter(row["verdict"] for row in rows)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of_kind = [row["verdict"] for row in rows if row["kind"] == kind]
        print(f"# {kind}: {of_kind.count(RIGHT)} of {len(of_kind)}")
    print(
        f"# {languages}: {100 * counts[RIGHT] / len(rows):.1f} % right; "
        f"{counts[WRONG]} wrong, {counts[judging.TO_JUDGE]} to judge of {len(rows)}"
    )
    if options.save:
        summary = {"right": counts[RIGHT], "wrong": counts[WRONG], "to_judge": counts[judging.TO_JUDGE]}
        print(record.save(f"everyday_{languages}", [summary, *rows], {}))


if __name__ == "__main__":
    main()
