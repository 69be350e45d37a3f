"""How well a model writes on: `python benchmarks/story_quality.py --model story --text held-out.txt.xz`.

- perplexity of held-out text, by token and by word: chapters from all over it, each token after those before it, in rows
  as long as those of the training
- distinct-n: the share of n-grams of words that are different, over all continuations of story_beginnings.txt
- repetition: the share of 4-grams that have come before in the same continuation, and continuations that loop
- names kept: of the names in a beginning (after a tab in that file), how many come again in its continuation
The continuations are printed, for a person to read.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
from pathlib import Path
from typing import Any

import record

import regard
from regard.api import Model
from regard.config import to_dict
from regard.data.lines import read_lines
from regard.decode import score
from regard.text import is_looping

sys.path.append(str(Path(__file__).parents[1] / "recipes" / "text"))
from fr_en import plain

HERE = Path(__file__).parent
BEGINNINGS = HERE / "story_beginnings.txt"

_WORD = re.compile(r"[\w']+")


def n_grams(words: list[str], length: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(length)), strict=False))


def distinct(texts: list[list[str]], length: int) -> float:
    """
    >>> distinct([["a", "b", "a", "b"]], 2)
    0.6666666666666666
    """
    grams = [gram for words in texts for gram in n_grams(words, length)]
    return len(set(grams)) / max(1, len(grams))


def repetition(words: list[str], length: int = 4) -> float:
    """
    >>> repetition("no more".split())
    0.0
    """
    grams = n_grams(words, length)
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def read_beginnings() -> list[tuple[str, list[str]]]:
    """Each with the names in it."""
    lines = [line.split("\t") for line in BEGINNINGS.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [(line[0], line[1:]) for line in lines]


def read_chapters(path: Path, most_words: int) -> tuple[list[str], str]:
    """Every so-manieth chapter, about as many words as asked for; and which part of the text that is."""
    lines = ["" if line.startswith("# ") else plain(line) for line in read_lines(path)]
    found = [chapter for chapter in re.split(r"\n{2,}", "\n".join(lines).strip("\n")) if chapter]
    num_words = sum(len(chapter.split()) for chapter in found)
    stride = math.ceil(num_words / most_words)
    return found[::stride], f"every {stride}. chapter of {len(found)}" if stride > 1 else "all"


def perplexity(model: Model, texts: list[str]) -> dict[str, float]:
    """Each piece is foretold from those before it in its row."""
    own = model._translator
    num_tokens = own.longest
    rows = [
        ids[start : start + num_tokens]
        for ids in own.target.encode_batch(texts)
        for start in range(0, len(ids), num_tokens)
    ]
    total, count = 0.0, 0
    for row in rows:
        [found] = score(own.engine, [[]], [row])
        values = found[: len(row)]
        total -= sum(values)
        count += len(values)
    num_words = sum(len(text.split()) for text in texts)
    return {
        "perplexity_of_pieces": math.exp(total / count),
        "perplexity_of_words": math.exp(total / num_words),
        "held_out_words": num_words,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="story", help="a model's name or folder")
    parser.add_argument("--text", type=Path, help="held-out text, a paragraph a line")
    parser.add_argument("--most-words", type=int, default=20_000, help="of the text, about")
    parser.add_argument("--length", type=int, default=150, help="words of a continuation")
    parser.add_argument("--endings", type=int, default=3, help="of each beginning")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    options = parser.parse_args()
    model = regard.load(options.model)
    rows: list[dict[str, Any]] = []
    for beginning, names in read_beginnings():
        for number in range(options.endings):
            parts = model.writing(beginning, length=options.length, number=number, seed=options.seed)
            written = "".join(parts)
            print(f"{beginning}{written}\n")
            words = _WORD.findall(written.lower())
            rows.append(
                {
                    "beginning": beginning,
                    "written": written,
                    "repetition": repetition(words),
                    "loops": is_looping(words),
                    "names": names,
                    "names_kept": [name for name in names if name in written],
                }
            )
    texts = [_WORD.findall(row["written"].lower()) for row in rows]
    figures = {f"distinct_{length}": distinct(texts, length) for length in (1, 2, 3)}
    figures["repetition_4"] = statistics.mean(row["repetition"] for row in rows)
    figures["loops"] = sum(row["loops"] for row in rows) / len(rows)
    num_names = sum(len(row["names"]) for row in rows)
    figures["names_kept"] = sum(len(row["names_kept"]) for row in rows) / max(1, num_names)
    figures["words"] = statistics.mean(len(row["written"].split()) for row in rows)
    settings = to_dict(model.manifest.decode) | {"seed": options.seed}
    settings |= {"length": options.length, "endings": options.endings}
    if options.text:
        texts_held_out, settings["held_out"] = read_chapters(options.text, options.most_words)
        figures |= perplexity(model, texts_held_out)
    for name, value in figures.items():
        print(f"# {name}: {value:.3f}")
    if options.save:
        print(record.save("story_quality", [{**figures, "settings": settings}, *rows], {}))


if __name__ == "__main__":
    main()
