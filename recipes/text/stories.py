"""Stories for the writer: those written for it, and those sampled from a teacher.

    python recipes/text/stories.py written --output data/stories/written.txt.xz
    python recipes/text/stories.py beginnings train.txt.xz --count 60000 --output data/stories/small.txt
    regard write --model stories15M --input data/stories/small.txt --output data/stories/told --length 190 \
        --temperature 0.8 --set top_k=64
    python recipes/text/stories.py keep data/stories/told/small.txt --output data/stories/small.txt.xz
    python recipes/text/stories.py books train.txt.xz --output data/stories/books.txt.xz
    python recipes/text/stories.py trim stories15M.bin train.txt.xz everyday.en.txt --count 12000 --output trimmed/stories.bin

`written` are those of stories.txt; one of 40 goes into valid.txt.xz beside them instead. A beginning is a sentence with
which a paragraph of a book begins, of common words, or one made of the lists below; one of four is cut within the sentence.
Kept is a story that is long enough, goes on with the names of its beginning, ends with a sentence, does not loop, and is
not made of what others before it say. `trim` leaves a checkpoint of llama2.c with the tokens that texts use most, and those
they are made of: of 32,000 a third. What is written with these tokens alone is scored exactly as before.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import random
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from fr_en import plain
from sentencepiece import SentencePieceProcessor

from regard.data.lines import read_lines
from regard.exchange.llama2c import read as read_llama2c
from regard.generate.prompts import to_lines
from regard.text import is_looping
from regard.text.tokenizer import SPACE_MARK

WRITTEN = Path(__file__).with_name("stories.txt")

NAMES = (
    "Ada Aiko Alma Amir Ana Anders Bea Ben Bruno Carla Chen Clara Dalia David Elsa Emil Esther Farid Finn Freya George "
    "Gita Greta Hana Hassan Hugo Ida Ivan Jamal Jane Jonas Joy Kai Karim Kate Lena Leo Lin Lola Lucas Maya Max May "
    "Milo Musa Nadia Nils Noah Olga Omar Paul Petra Rosa Ruth Samir Sara Sofia Tariq Tilda Tom Uma Vera Victor Wanda "
    "Will Yara Yusuf Zara Zoe"
).split()
PEOPLE = {
    "children": "a shy fox|a small bear|a rabbit with one white ear|a girl named {name}|a boy called {name}|an old turtle"
    "|two frogs|a baby owl|a lonely cloud|a toy soldier|the king's youngest daughter|a mouse named {name}",
    "adventure": "Captain {name}|the young sailor {name}|three brothers|a pilot named {name}|the guide {name}|an explorer"
    "|a shepherd's son|the crew of a small ship|{name} and her horse|an old treasure hunter",
    "science fiction": "a robot named {name}|Commander {name}|the crew of a spaceship|a scientist called Dr. {name}|the last"
    " human on Earth|a visitor from another star|a girl born on the Moon|an engineer named {name}|the ship's computer",
    "detective": "Inspector {name}|a private detective|Detective {name}|the maid|a young constable|Mrs. {name}, a widow"
    "|the lawyer {name}|a night watchman|the banker's nephew|an old thief called {name}",
    "everyday": "{name}|a baker named {name}|Mr. {name}|my sister {name}|a tired nurse|the new teacher|{name} and his father"
    "|an old couple|a bus driver called {name}|my neighbour {name}|the student {name}|a young mother",
}
PLACES = {
    "children": "in the forest|under the bridge|at the farm|in a garden|by the pond|in a little house on a hill",
    "adventure": "on an island|in the desert|in the mountains|at sea|deep in the jungle|at the mouth of a cave",
    "science fiction": "on a distant planet|on board the ship|in the laboratory|in the year 2300|on a space station",
    "detective": "in the library|at the museum|in a hotel by the sea|in London|on the night train|at an auction",
    "everyday": "in the kitchen|at work|in the supermarket|at the station|on the third floor|in a small town|at the party",
}
EVENTS = {
    "children": "could not sleep|found a shiny key|wanted to fly|lost a red mitten|heard a strange song|made a new friend"
    "|was afraid of the thunder|planted a magic seed|did not want to share|broke a promise",
    "adventure": "found a torn map|saw smoke in the distance|heard the wolves|lost the way in the fog|was the first to see land"
    "|had to cross the river before night|followed the tracks of a tiger|opened the iron chest",
    "science fiction": "received a signal that nobody understood|woke up after a hundred years|met the first stranger from the"
    " stars|forgot an order for the first time|opened the wrong door|saw a second sun rise",
    "detective": "noticed that the clock had stopped|found a glove beside the window|did not believe the story|received a letter"
    " without a name|heard a shot|saw that the painting was gone|asked about the missing ring",
    "everyday": "had missed the last bus|was looking for the keys|had invited too many people|got a letter from an old friend"
    "|wanted to say sorry|could not find the right words|had lost a job that morning|was cooking soup",
}
TIMES = "One day|One evening|Early in the morning|Last winter|That night|On a rainy afternoon|Many years ago|One Sunday"

_NUM_COMMON = 9000
"""words of the books that a beginning may be made of, the most frequent ones"""
_WORDS = (5, 24)
_MIN_WORDS = 50
"""of a story after its beginning"""
_CUT_SHARE, _MADE_SHARE = 0.25, 0.5
_SHINGLE, _MAX_SEEN = 6, 0.25
"""words in a row that are looked for in earlier stories, and the share of them that may be found there"""
_MAX_ALIKE = 400
"""stories that may begin their second sentence with the same four words"""
_VALID_SHARE = 40
"""one written story of so many is held out"""
_TRIMMED_LENGTH = 512
"""tokens that a text may have; it was trained on 256, and learns the others with what it is trained on next"""
_NUM_SPECIAL, _NUM_COUNTED = 259, 400_000
"""tokens that are bytes or control the text; lines whose tokens are counted"""
_FIRST = re.compile(r"[A-Z\"\u201c].{20,160}?(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)[.!?][\"'\u201d\u2019]?(?= |$)")
_SAYS = re.compile(r"[\"\u201d] (?:\w+ ){0,3}(?:said|asked|cried|whispered|answered)\b|\b(?:said|asked|cried) .+\.$")
_WORD = re.compile(r"[A-Za-z']+")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}|^[A-Z][a-z]+(?= (?:was|had|saw|and|could|did|went|came|said|looked)\b)")
_UNFIT = re.compile(
    r"[^\x20-\x7e\n\u2018\u2019\u201c\u201d\u2013\u2014\u2026éèêçïöüñ]|https?:|[<>{}\[\]|@#*_=\\]|\d{3}|\bAI\b"
)
_LAST = re.compile(r".*[.!?][\"'\u201d\u2019]?(?=\s|$)", re.DOTALL)
_NOT_NAMES = set(
    "I The And But Then When She He It They We You God Oh Yes No Well Why What Who How Mr Mrs Miss Sir".split()
)


def made(draw: random.Random) -> str:
    """A beginning of the lists.

    >>> made(random.Random(4))[-1] in "."
    True
    """
    kind = draw.choice(list(PEOPLE))
    who, where, what = (draw.choice(each[kind].split("|")) for each in (PEOPLE, PLACES, EVENTS))
    who, when = who.format(name=draw.choice(NAMES)), draw.choice(TIMES.split("|"))
    forms = (
        f"{when}, {who} {what} {where}.",
        f"{who} {what}.",
        f"{when} {where}, {who} {what}.",
        f"When {who} {what} {where}, nobody said a word.",
        f"{when}, {who} {what}, and that was only the beginning.",
    )
    text = draw.choice(forms)
    return text[0].upper() + text[1:]


def from_books(paragraphs: Iterable[str]) -> list[str]:
    """First sentences of paragraphs, if all of their words are common."""
    firsts: list[str] = []
    times: Counter[str] = Counter()
    for paragraph in paragraphs:
        if paragraph.startswith("#") or not paragraph:
            continue
        times.update(_WORD.findall(paragraph.lower()))
        if (match := _FIRST.match(plain(paragraph[:200]))) and _is_told(match[0]):
            firsts.append(match[0])
    common = {word for word, _ in times.most_common(_NUM_COMMON)}
    return [text for text in dict.fromkeys(firsts) if not _UNFIT.search(text) and _is_common(text, common)]


def _is_told(text: str) -> bool:
    """Neither too short nor too long, and where somebody speaks it says who."""
    least, most = _WORDS
    is_speech = text[0] in "\"'\u2018\u201c"
    return least <= len(text.split()) <= most and (not is_speech or bool(_SAYS.search(text)))


def _is_common(text: str, common: set[str]) -> bool:
    return all(word.lower() in common for word in _WORD.findall(text) if not word[0].isupper())


def beginnings(books: Iterable[str], count: int, seed: int = 1) -> Iterator[str]:
    """So many, in a new order; a sentence of a book comes again when all have been drawn, cut elsewhere."""
    draw = random.Random(seed)
    found = from_books(books)
    draw.shuffle(found)
    again = itertools.cycle(found or [""])
    for _ in range(count):
        text = made(draw) if draw.random() < _MADE_SHARE or not found else next(again)
        words = text.split()
        if draw.random() < _CUT_SHARE and len(words) > 6:
            text = " ".join(words[: draw.randint(4, len(words) - 2)]).rstrip(",;:")
        yield text


class StoryFilter:
    """Stories one after another; what makes one unfit is counted."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._seen: set[int] = set()
        self._openings: Counter[str] = Counter()

    def __call__(self, beginning: str, text: str) -> str | None:
        """The story up to its last whole sentence, or nothing; `text` begins with the beginning."""
        told = text[len(beginning) :]
        if match := _LAST.match(told):
            told = match[0]
        told = re.sub(r"[ \t]+", " ", re.sub(r"\s*\n\s*", "\n", told.rstrip()))
        reason = self._flaw(beginning, told)
        if reason:
            self.dropped[reason] += 1
            return None
        return beginning + told

    def _flaw(self, beginning: str, told: str) -> str | None:
        words = _WORD.findall(told.lower())
        names = set(_NAME.findall(beginning)) - _NOT_NAMES
        if len(words) < _MIN_WORDS or not _LAST.fullmatch(told):
            return "too short, or without an end"
        if _UNFIT.search(told):
            return "other signs"
        if is_looping(words) or len(set(words)) < 0.35 * len(words):
            return "goes round in circles"
        if names and not any(name in told for name in names):
            return "loses its names"
        self._openings[" ".join(words[:4])] += 1
        if self._openings[" ".join(words[:4])] > _MAX_ALIKE:
            return "begins like many others"
        grams = [hash(tuple(words[place : place + _SHINGLE])) for place in range(0, len(words) - _SHINGLE, 3)]
        if sum(gram in self._seen for gram in grams) > _MAX_SEEN * len(grams):
            return "told before"
        self._seen.update(grams)
        return None


def keep(told: Iterable[str], given: Iterable[str]) -> Iterator[str]:
    """Each story that is kept, its paragraphs on lines; told and given are the lines of two files."""
    judge = StoryFilter()
    total = kept = 0
    for text, beginning in zip(map(to_lines, told), map(to_lines, given), strict=True):
        total += 1
        if story := judge(beginning, text):
            kept += 1
            yield story
    print(f"{kept:,} of {total:,} kept")
    for reason, count in judge.dropped.most_common():
        print(f"left out: {reason} {count:,}")


def written(path: Path = WRITTEN) -> list[str]:
    """The stories that were written for regard, their paragraphs on lines."""
    return "\n".join(read_lines(path)).strip().split("\n\n")


def books(lines: Iterable[str]) -> Iterator[str]:
    """Chapters of books, a document each."""
    chapter: list[str] = []
    for line in itertools.chain(lines, ["#"]):
        if line.startswith("#"):
            if chapter:
                yield "\n".join(chapter)
            chapter = []
        elif line.strip():
            chapter.append(plain(line))


def kept_tokens(tokens: list[str], scores: list[float], times: Counter[int], count: int) -> list[int]:
    """The tokens to keep: bytes and what controls, each sign of the text, the most frequent ones, and what these are merged from."""
    index = {token: id for id, token in enumerate(tokens)}
    kept = set(range(_NUM_SPECIAL))

    def keep_with_parts(id: int) -> None:
        waiting = [id]
        while waiting:
            id = waiting.pop()
            if id in kept:
                continue
            kept.add(id)
            halves = ((tokens[id][:place], tokens[id][place:]) for place in range(1, len(tokens[id])))
            pairs = [(index[left], index[right]) for left, right in halves if left in index and right in index]
            # Merged last is the pair whose own tokens are merged first.
            waiting += max(pairs, key=lambda pair: min(scores[pair[0]], scores[pair[1]]), default=())

    for id, token in enumerate(tokens):
        if len(token) == 1 and (token.isascii() or times[id]):
            keep_with_parts(id)
    for id, _ in times.most_common():
        if len(kept) >= count:
            break
        keep_with_parts(id)
    return sorted(kept)


def trim(checkpoint: Path, lines: Iterable[str], count: int, output: Path) -> None:
    """Write a checkpoint of llama2.c with fewer tokens and room for longer texts, and its tokenizer.bin beside it, where
    that of the first is too."""
    files = read_llama2c(checkpoint)
    tokenizer = SentencePieceProcessor(model_proto=files.files[files.tokenizer.source])
    tokens = [tokenizer.id_to_piece(id) for id in range(len(tokenizer))]
    scores = [tokenizer.get_score(id) for id in range(len(tokenizer))]
    times: Counter[int] = Counter()
    for line in itertools.islice(lines, _NUM_COUNTED):
        times.update(tokenizer.encode(line))
    kept = kept_tokens(tokens, scores, times, count)
    content = checkpoint.read_bytes()
    numbers = list(struct.unpack_from("<7i", content))
    table = np.frombuffer(content, "<f4", numbers[5] * numbers[0], 28).reshape(numbers[5], numbers[0])
    half = numbers[0] // numbers[3] // 2  # of a head's width: pairs of numbers that a position turns
    rest = content[28 + table.nbytes : len(content) - 2 * numbers[6] * half * 4]
    angles = np.outer(np.arange(_TRIMMED_LENGTH), 10000.0 ** (-np.arange(half) / half))
    rest += np.stack([np.cos(angles), np.sin(angles)]).astype("<f4").tobytes()
    numbers[5:] = len(kept), _TRIMMED_LENGTH
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(struct.pack("<7i", *numbers) + table[kept].tobytes() + rest)
    names = [tokens[id].replace(SPACE_MARK, " ").encode() for id in kept]
    rows = (struct.pack("<fi", scores[id], len(name)) + name for id, name in zip(kept, names, strict=True))
    output.with_name("tokenizer.bin").write_bytes(struct.pack("<i", max(map(len, names))) + b"".join(rows))
    covered = sum(times[id] for id in kept) / times.total()
    print(f"{len(kept):,} of {len(tokens):,} tokens kept, which are {covered:.2%} of the text")


def _write(path: Path, documents: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", preset=1, encoding="utf-8", newline="\n") as output:
        output.writelines(f"{document}\n\n" for document in documents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["written", "beginnings", "keep", "books", "trim"])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument(
        "--given", type=Path, help="keep: the file of beginnings; by default that of the same name above"
    )
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    lines = itertools.chain.from_iterable(map(read_lines, options.files))
    if options.task == "beginnings":
        options.output.parent.mkdir(parents=True, exist_ok=True)
        found = beginnings(lines, options.count, options.seed)
        with open(options.output, "w", encoding="utf-8", newline="\n") as output:
            output.writelines(f"{text}\n" for text in found)
    elif options.task == "written":
        known = written()
        _write(options.output, (text for place, text in enumerate(known) if place % _VALID_SHARE))
        _write(options.output.with_name("valid.txt.xz"), known[::_VALID_SHARE])
    elif options.task == "trim":
        checkpoint, *texts = options.files
        lines = itertools.chain.from_iterable(map(read_lines, texts))
        trim(checkpoint, lines, options.count, options.output)
    elif options.task == "keep":
        given = options.given or options.files[0].parent.parent / options.files[0].name
        _write(options.output, keep(lines, read_lines(given)))
    else:
        _write(options.output, books(lines))


if __name__ == "__main__":
    main()
