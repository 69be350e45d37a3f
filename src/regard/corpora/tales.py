"""Short stories written for regard, each told many times with other names and in other words.

tales.txt has a paragraph a line and an empty line between stories. `{f1}` is the first name of a woman or girl, `{m1}`
of a man or boy, `{s1}` a surname, each the same in all of a story and so many of them that keeping a name is learnt and
not the names. Of `[rain|snow|fog]` one is drawn; `[thing=watch|ring]` is drawn once, and `[thing]` is it again; what goes
together is drawn together, `[pet/call=cat/miaowed|dog/barked]`, and `[Pet]` has a capital.

plots.txt is written in the same way, with several tellings of each paragraph, of which any goes with any of the next: a
line that begins with `+ ` tells again the paragraph above it. So a plot is thousands of stories, of which no two are alike
for long: what they share is how one thing leads to another. A line that begins with `= ` is not told: it draws. One that
begins with `> ` is a beginning that somebody might give, after which the story could follow; after a tab stands what its
hero is then called, where it has no name.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from regard.corpora.names import names
from regard.data.corpus import read_lines

FILE = Path(__file__).with_name("tales.txt")
PLOTS_FILE = Path(__file__).with_name("plots.txt")
_VALID_EVERY = 25
"""one story of so many is held out, with all its tellings"""

NUM_TOLD, PLOT_NUM_TOLD = 16, 240
"""tellings of a tale, and of a plot"""
_ANY_NAME_SHARE = 0.25
"""of the names, those from everywhere and made-up ones; the others are common in English"""
_AGAIN, _UNTOLD, _BEGUN = "+ ", "= ", "> "
_CHOICE = re.compile(r"\[(?:([\w/]+)=)?([^\[\]]*)\]")
_NAME = re.compile(r"\{[fms]\d\}")
_BEGINS = re.compile(r"(?:^|[.!?]\"? |\n)\"?$")

_COMMON = {
    "f": (
        "Ada Agnes Alice Amy Anna Audrey Barbara Beth Betty Carol Catherine Cecily Clara Claire Cora Daisy Diana Dora "
        "Dorothy Edith Ella Ellen Elsie Emily Emma Esther Eva Evelyn Fanny Flora Florence Frances Grace Hannah Harriet "
        "Hazel Helen Ida Irene Iris Isabel Ivy Jane Janet Jenny Jessie Joan Josephine Judith Julia June Kate Laura Lena "
        "Lily Linda Louisa Lucy Lydia Mabel Maggie Margaret Maria Marian Mary Matilda Maud May Mildred Millie Miriam "
        "Molly Nancy Nell Nina Nora Olive Pamela Patience Paula Pearl Peggy Phoebe Polly Rachel Rebecca Rita Rosa Rose "
        "Ruby Ruth Sally Sarah Sophie Stella Susan Sylvia Tess Thelma Vera Violet Wendy Winifred Zoe"
    ),
    "m": (
        "Aaron Abel Adam Albert Alfred Andrew Anthony Arthur Ben Bernard Bert Bill Bob Bruce Charles Charlie Clement "
        "Colin Daniel David Dennis Dick Donald Douglas Edgar Edmund Edward Edwin Eric Ernest Ethan Felix Francis Frank "
        "Fred George Gilbert Gordon Graham Harold Harry Henry Herbert Howard Hugh Ian Isaac Jacob James Jasper Jim Joe "
        "John Jonah Joseph Ken Lawrence Leo Leonard Lewis Luke Mark Martin Matthew Max Michael Miles Mortimer Ned Neil "
        "Nicholas Noah Norman Oliver Oscar Owen Patrick Paul Percy Peter Philip Ralph Ray Richard Robert Robin Roger "
        "Roland Ronald Rufus Sam Samuel Sidney Silas Simon Stanley Stephen Ted Theodore Thomas Tim Toby Tom Victor "
        "Vincent Walter Wilfred Will William"
    ),
    "s": (
        "Abbott Adams Allen Archer Armstrong Atkins Bailey Baldwin Barlow Barnes Barrow Bates Bell Bennett Benson Bishop "
        "Blake Bolton Booth Bowen Bradley Briggs Brooks Burton Carr Chapman Clay Cole Collins Cooper Cotton Crane Cross "
        "Curtis Dale Dawson Dixon Drake Dunn Eaton Ellis Farrow Finch Fisher Fletcher Flint Forbes Foster Fowler Fox "
        "Frost Gardner Garrett Gibson Gray Green Griffin Hale Harper Harris Hart Hastings Hayes Higgins Hill Holt Hooper "
        "Hudson Hunter Ingram Irving Jennings Kemp Kerr King Knight Lamb Lane Larkin Lawson Lee Lister Lloyd Locke Lowe "
        "Marsh Mason Merton Mills Moody Moore Morgan Morris Nash Newton Norris Oakley Osborne Page Palmer Parrish Pearce "
        "Perkins Pike Poole Porter Potter Price Quinn Reed Rhodes Robbins Rowe Russell Sanders Sharp Shaw Skinner Slater "
        "Spencer Stone Sutton Swift Tate Thorne Todd Tucker Turner Vance Wade Walsh Ward Warren Watts Webb Wells West "
        "Wheeler Whitaker Winter Wood Yates York"
    ),
}


def tales(path: Path = FILE) -> list[list[str]]:
    """The paragraphs of each story, as they were written."""
    found: list[list[str]] = [[]]
    for line in read_lines(path):
        if line:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [story for story in found if story]


def split(path: Path = FILE) -> tuple[list[list[str]], list[list[str]]]:
    """Stories to train on, and those held out."""
    known = tales(path)
    valid = known[::_VALID_EVERY]
    return [story for place, story in enumerate(known) if place % _VALID_EVERY], valid


def told(
    stories: Iterable[list[str]], num_told: int = NUM_TOLD, seed: int = 1
) -> Iterator[list[str]]:
    """Each story several times over, the same every time that this is asked for."""
    draw = random.Random(seed)
    for story in stories:
        ways = _ways(story)
        for _ in range(num_told):
            lines = drawn(map(draw.choice, ways), draw)
            cast = cast_of(lines, draw)
            yield [named(line, cast) for line in lines if not line.startswith(_UNTOLD)]


def drawn(lines: Iterable[str], draw: random.Random) -> list[str]:
    """Lines of which each has one way, with their words drawn; in place of names still stand their slots."""
    return _drawn("\n".join(lines), draw).split("\n")


def slots_of(text: str) -> list[str]:
    """Those of names, in their order, each once.

    >>> slots_of("{m1} met {f1}. {m1} bowed.")
    ['{m1}', '{f1}']
    """
    return list(dict.fromkeys(_NAME.findall(text)))


def cast_of(lines: Iterable[str], draw: random.Random) -> dict[str, str]:
    """By slot, such as {f1}, what somebody is called."""
    common, others = _first_and_last_names()
    cast: dict[str, str] = {}
    for slot in sorted(slots_of("\n".join(lines))):
        known = (others if draw.random() < _ANY_NAME_SHARE else common)[slot[1]]
        name = draw.choice(known)
        while name in cast.values():
            name = draw.choice(known)
        cast[slot] = name
    return cast


def named(text: str, cast: Mapping[str, str]) -> str:
    """A text with the names in it; who is called by what they are has a capital where a sentence begins.

    >>> named('{m1} ran. "{m1} fell," said {f1}.', {"{m1}": "the king", "{f1}": "Ann"})
    'The king ran. "The king fell," said Ann.'
    """

    def one(found: re.Match[str]) -> str:
        name = cast[found[0]]
        begins = _BEGINS.search(text[: found.start()])
        return name[:1].upper() + name[1:] if begins else name

    return _NAME.sub(one, text)


def surnames() -> list[str]:
    """Those that are common in English."""
    return _first_and_last_names()[0]["s"]


@functools.cache
def _first_and_last_names() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """By slot, those that are common in English, and those from everywhere."""
    everywhere = names()
    common = {slot: listed.split() for slot, listed in _COMMON.items()}
    kinds = {"f": "she", "m": "he", "s": "surname"}
    # Not du Bellay, with which a sentence cannot begin.
    others = {
        slot: [name for _, name in everywhere[kind] if name[0].isupper()]
        for slot, kind in kinds.items()
    }
    return common, others


def ways_of(story: list[str]) -> tuple[list[str], list[list[str]]]:
    """The lines that only draw, and of each paragraph the ways to tell it."""
    untold = [line for line in story if line.startswith(_UNTOLD)]
    return untold, _ways([line for line in story if not line.startswith(_UNTOLD)])


def beginnings_of(story: list[str]) -> list[tuple[str, str | None]]:
    """Those that were written for it, and what each calls the hero.

    >>> beginnings_of(["> It was late.", "> A baker sang.\\tthe baker", "{m1} woke."])
    [('It was late.', None), ('A baker sang.', 'the baker')]
    """
    lines = [line.removeprefix(_BEGUN) for line in story if line.startswith(_BEGUN)]
    parts = [line.partition("\t") for line in lines]
    return [(text, called or None) for text, _, called in parts]


def _ways(story: list[str]) -> list[list[str]]:
    """Of each paragraph, the ways to tell it.

    >>> _ways(["It rained.", "+ It snowed.", "So Tom stayed."])
    [['It rained.', 'It snowed.'], ['So Tom stayed.']]
    """
    found: list[list[str]] = []
    for line in story:
        if line.startswith(_BEGUN):
            continue
        if line.startswith(_AGAIN):
            found[-1].append(line.removeprefix(_AGAIN))
        else:
            found.append([line])
    return found


def _drawn(text: str, draw: random.Random) -> str:
    """
    >>> _drawn("A [pet/call=cat/purred|cat/purred] sat. The [pet] [call]. [Pet]!", random.Random(1))
    'A cat sat. The cat purred. Cat!'
    """
    bound: dict[str, str] = {}

    def one(found: re.Match[str]) -> str:
        slots, ways = found.groups()
        if slots is None and "|" not in ways:
            small = ways[:1].lower() + ways[1:]
            return bound[ways] if ways in bound else bound[small][:1].upper() + bound[small][1:]
        chosen = draw.choice(ways.split("|"))
        if slots is None:
            return chosen
        parts = chosen.split("/")
        bound.update(zip(slots.split("/"), parts, strict=True))
        return parts[0]

    return _CHOICE.sub(one, text)
