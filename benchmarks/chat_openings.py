"""Three hundred openings and what a chat model answers, for a person to judge: `python benchmarks/chat_openings.py`.

Those of chat_openings.txt were in view when small talk was written for training: it has much of what they say, in
other words. Those of chat_fresh.txt and chat_fresh_second.txt were written later by some who had read neither, and no small talk was
written for them.

Each opening begins a conversation of its own, and nothing is left to chance: the same model gives the same replies.
chat_judged.tsv keeps opening TAB reply TAB verdict, so that nobody has to judge a line again: fits, not, or unsure where
the model only says that it does not know what to say. What is not judged yet counts as not fitting, and `--to-judge`
prints it in the form of that file. Then the same model talks to itself for ten turns, from several beginnings: no reply
may come twice, nor nearly. And it is told names, and asked for them two exchanges later.
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
from regard.data.lines import read_lines

HERE = Path(__file__).parent
SMALL_TALK = HERE.parent / "recipes" / "text" / "small_talk.tsv"
OPENINGS = HERE / "chat_openings.txt"
FRESH = (HERE / "chat_fresh.txt", HERE / "chat_fresh_second.txt")
JUDGED = HERE / "chat_judged.tsv"
FITS, UNSURE, NOT = "fits", "unsure", "not"

NUM_TURNS = 10
NEARLY = 0.8
BEGINNINGS = ("Hello!", "I like films.", "I'm sad.", "Tell me something.", "What did you do today?")

NAMES = (
    "Sarah Ravi Clementine Peter Nkechi Giovanni Bob Yusuf Ingrid Laura Tomasz Wei Fatima Oliver Björn Chloe Dmitri "
    "Harriet Kwame Zoë Mark Esperanza Jun Walter Imogen"
).split()
TOLD = ("My name is {}.", "Hi, I'm {}!", "hello, {} here")
ASKED = ("What is my name?", "do you remember my name?", "whats my name")


def answer(model: Model, openings: list[str]) -> list[dict[str, str]]:
    """A row an opening; its verdict is empty where a person has to say it."""
    judged = judging.read_judged(JUDGED, (FITS, UNSURE, NOT))
    replies = [model.reply(opening, temperature=0) for opening in openings]
    return [
        {"opening": opening, "reply": reply, "verdict": judged.get((opening, reply), judging.TO_JUDGE)}
        for opening, reply in zip(openings, replies, strict=True)
    ]


def num_known(rows: list[dict[str, str]]) -> int:
    """How many openings a person has said, in the same words, in the text written for training."""
    turns = (turn for line in read_lines(SMALL_TALK) for turn in line.split("\t")[::2])
    said = {words_of(way) for turn in turns for way in turn.split("|")}
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


def name_of(model: Model, place: int) -> str:
    """What the model says when it is asked for a name."""
    talk, kind = model.chat(temperature=0), place % len(TOLD)
    for text in (TOLD[kind].format(NAMES[place]), "I like tea.", "It's raining again."):
        talk.say(text)
    return talk.say(ASKED[kind])


def summary_of(rows: list[dict[str, str]], name: str) -> dict[str, Any]:
    """The verdicts counted."""
    verdicts = [row["verdict"] for row in rows]
    return {
        "list": name,
        "openings": len(rows),
        "fits": verdicts.count(FITS),
        "unsure": verdicts.count(UNSURE),
        "to_judge": verdicts.count(judging.TO_JUDGE),
        "in_small_talk": num_known(rows),
    }


def main() -> None:
    options = judging.options_of(__doc__, "chat", JUDGED).parse_args()
    model = regard.load(options.model[0])
    summaries: list[dict[str, Any]] = []
    saved: list[dict[str, Any]] = []
    for file in (OPENINGS, *FRESH):
        rows = answer(model, file.read_text("utf-8").splitlines())
        if options.to_judge:
            judging.print_to_judge(rows, "opening", "reply")
        else:
            for row in rows:
                shown = row["verdict"] or "to judge"
                print(f"{shown:>8}  {row['opening']}\n{'':>10}{row['reply']}")
        summaries.append(summary_of(rows, file.stem))
        saved += [{"list": file.stem, **row} for row in rows]
    num_again = 0
    for beginning in BEGINNINGS:
        replies = ten_turns(model, beginning)
        again = repeated(replies)
        num_again += len(again)
        saved.append({"beginning": beginning, "replies": replies, "said_again": again})
    recalled = {name: name_of(model, place) for place, name in enumerate(NAMES)}
    num_recalled = sum(f"name is {name}" in reply or f"called {name}" in reply for name, reply in recalled.items())
    for summary in summaries:
        print("#", "  ".join(f"{key}: {value}" for key, value in summary.items()))
    print(f"# said again in ten turns: {num_again} of {NUM_TURNS * len(BEGINNINGS)} replies")
    print(f"# names given back: {num_recalled} of {len(NAMES)}")
    if options.save:
        summaries.append({"said_again": num_again, "names_given_back": num_recalled})
        print(record.save("chat_openings", [*summaries, *saved, recalled], {}))


if __name__ == "__main__":
    main()
