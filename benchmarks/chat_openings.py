"""A hundred openings and what a chat model answers, for a person to judge: `python benchmarks/chat_openings.py`.

Each opening begins a conversation of its own, and nothing is left to chance: the same model gives the same replies.
chat_judged.tsv keeps opening TAB reply TAB verdict, so that nobody has to judge a line again: fits, not, or unsure where
the model only says that it does not know what to say. What is not judged yet counts as not fitting, and `--to-judge` prints it in the form of that file. Then the same model talks to itself for ten turns,
from several beginnings: no reply may come twice, nor nearly.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import judging
import record

import regard
from regard.api import Model
from regard.corpora import small_talk

HERE = Path(__file__).parent
OPENINGS = HERE / "chat_openings.txt"
JUDGED = HERE / "chat_judged.tsv"
FITS, UNSURE, NOT = "fits", "unsure", "not"

NUM_TURNS = 10
NEARLY = 0.8
BEGINNINGS = ("Hello!", "I like films.", "I'm sad.", "Tell me something.", "What did you do today?")


def answer(model: Model, openings: list[str]) -> list[dict[str, str]]:
    """A row an opening; its verdict is empty where a person has to say it."""
    judged = judging.read_judged(JUDGED, (FITS, UNSURE, NOT))
    replies = [model.reply(opening, temperature=0) for opening in openings]
    return [
        {
            "opening": opening,
            "reply": reply,
            "verdict": judged.get((opening, reply), judging.TO_JUDGE),
        }
        for opening, reply in zip(openings, replies, strict=True)
    ]


def num_known(rows: list[dict[str, Any]]) -> int:
    """How many openings a person has said, in the same words, in the text written for training."""
    said = {
        words_of(way) for turns in small_talk.dialogues() for turn in turns[::2] for way in turn
    }
    return sum(words_of(row["opening"]) in said for row in rows)


def words_of(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def repeated(replies: list[str]) -> list[str]:
    """The replies that nearly say what an earlier one said.

    >>> repeated(["I like tea.", "Me too.", "i like tea"])
    ['i like tea']
    """
    words = [words_of(reply).split() for reply in replies]
    return [
        replies[place]
        for place, each in enumerate(words)
        if any(SequenceMatcher(None, each, other).ratio() >= NEARLY for other in words[:place])
    ]


def ten_turns(model: Model, beginning: str) -> list[str]:
    """What the model says when it answers its own answers."""
    talk = model.chat(temperature=0)
    other = model.chat(temperature=0)
    replies = [talk.say(beginning)]
    while len(replies) < NUM_TURNS:
        replies.append(talk.say(other.say(replies[-1])))
    return replies


def main() -> None:
    options = judging.parse_options(__doc__, "chat", JUDGED)
    model = regard.load(options.model)
    rows: list[dict[str, Any]] = [*answer(model, OPENINGS.read_text("utf-8").splitlines())]
    if options.to_judge:
        judging.print_to_judge(rows, "opening", "reply")
    else:
        for row in rows:
            print(f"{row['verdict'] or 'to judge':>8}  {row['opening']}\n{'':>10}{row['reply']}")
    num_fitting = sum(row["verdict"] == FITS for row in rows)
    num_unsure = sum(row["verdict"] == UNSURE for row in rows)
    num_open = sum(row["verdict"] == judging.TO_JUDGE for row in rows)
    print(f"# fits: {num_fitting} of {len(rows)}; unsure: {num_unsure}; {num_open} to judge")
    print(
        f"# of these openings {num_known(rows)} stand in the small talk that models are trained on"
    )
    num_again = 0
    for beginning in BEGINNINGS:
        replies = ten_turns(model, beginning)
        again = repeated(replies)
        num_again += len(again)
        rows.append({"beginning": beginning, "replies": replies, "said_again": again})
    print(f"# said again in ten turns: {num_again} of {NUM_TURNS * len(BEGINNINGS)} replies")
    if options.save:
        summary = {
            "openings": len(rows) - len(BEGINNINGS),
            "fits": num_fitting,
            "unsure": num_unsure,
            "to_judge": num_open,
            "said_again": num_again,
        }
        print(record.save("chat_openings", [summary, *rows], {}))


if __name__ == "__main__":
    main()
