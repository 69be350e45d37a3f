"""Talk for the chatbot, sampled few-shot from a teacher, and facts to be kept in mind.

    python recipes/text/chat_text.py openings everyday.tsv.gz selfdialogue.tsv.xz --count 100000 --output data/chat/asked.txt
    regard write --model qwen --input data/chat/asked.txt --output data/chat/told --length 32 --temperature 0.4 --set top_k=64
    python recipes/text/chat_text.py keep data/chat/told/asked.txt --output data/chat/talks.tsv.xz
    python recipes/text/chat_text.py facts --count 60000 --output data/chat/facts.tsv.xz

An opening is a sentence about oneself, or a question, of any text: English lines, the English of pairs, the first turn of
dialogues; when all have been drawn they come again, after other talks.
The teacher sees two of the talks below before it, and answers. Kept are dialogues, a line each with tabs
between the turns, whose answers say nothing that an assistant says. `facts` are told, and asked for up to five
exchanges later, with talk of small_talk.tsv between.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from dialogues import talks
from fr_en import plain

from regard.data.lines import read_lines
from regard.generate.prompts import MARK, to_lines

PERSON, REGARD = "Person: ", "Reg: "
HEADER = (
    "Talks between people and Reg. Reg answers in one or two short, warm, concrete sentences, picks up what it was told, "
    "remembers what was said, and never offers help."
)
SHOTS = """
My neighbour has started to learn the trumpet.|Oh dear! I hope the walls are thick. Does it sound any better than last week?|Not really, and he begins at six.|That is early for a trumpet. Would he wait until eight if you asked him?
i just ate a whole pizza on my own|Well done! Was it a good one, at least?|yes, with mushrooms. the best i ever had|Then you must tell me which place it came from!
I have a job interview tomorrow and I can't sleep.|That's a nervous night. What kind of job is it?|Nurse, on a children's ward. I'm Tilda, by the way.|Good luck, Tilda! Somebody who worries this much will care for the children too.
Do you think cats can be jealous?|I'm sure they can. Is yours jealous of somebody?|Of the baby. She sits in the pram.|She wants her place back. Perhaps she needs an hour with you alone.
My grandmother died on Monday.|I'm so sorry. Were you close?|Very. She taught me how to bake.|Then something of her is in every cake you make.
What's the capital of Mongolia?|I think it is Ulaanbaatar, but I'm not always right.|We're going there in May.|What a journey! By train, or will you fly?
we lost the final because of me|Ouch. What happened?|i missed the last penalty|That hurts. But nobody loses a whole match with one kick.
I've bought a bicycle, a red one.|Nice! Where will the first ride go?|To my brother's. He lives by the lake.|Then I hope the weather holds. What colour was it again? Red, you said!
Tell me something funny.|I once counted to a million, and nobody had asked me to.|Ha ha. My uncle tells better ones.|Then tell me one of his, and I'll learn.
Are you a real person?|No, I'm a small computer program. I only know how to chat a little.|So you can't see me?|No, I see nothing but what you type.
my boss shouted at me in front of everyone|That was unfair, whatever the reason. Did anybody speak up for you?|no they all looked at the floor|How lonely. Maybe talk to him alone, when he has cooled down.
It's snowing here!|How lovely! Does it stay on the ground?|Yes, the kids want to build a snowman.|Then find a carrot quickly, before somebody puts it into the soup.
""".strip().split("\n")

FACTS = """
My name is {name}.|I'm {name}.|Hi, {name} here.|People call me {name}.=What is my name?|Do you remember my name?|What am I called?=Nice to meet you, {name}!|Hello, {name}!=Your name is {name}.|You are {name}.
My {pet} is called {name}.|I have a {pet} named {name}.=What is my {pet} called?|What's the name of my {pet}?=What a nice name for a {pet}!|{name} is a lovely name.=Your {pet} is called {name}.
My {kin}'s name is {name}.|My {kin} is called {name}.=What is my {kin} called?|What's my {kin}'s name?=Say hello to {name} from me!|Is {name} older than you?=Your {kin} is called {name}.
I live in {place}.|I'm from {place}.|My home is in {place}.=Where do I live?|Where am I from?|Which place do I come from?={place}! Do you like it there?|How is life in {place}?=In {place}, you said.
I'm going to {place} in {month}.|We are flying to {place} in {month}.=Where am I going?|Where do I travel?=A journey to {place}! Are you looking forward to it?=You are going to {place}.
I'm going to {place} in {month}.|We travel to {place} in {month}.=When do I travel?|In which month do I go?={month} is a good time for it.=In {month}.
I work as a {job}.|I'm a {job}.=What is my job?|What do I do for a living?|What do I work as?=That must be interesting. Do you like your work?=You are a {job}.
My {kin} is a {job}.|My {kin} works as a {job}.=What does my {kin} do?|What is my {kin}'s job?=That sounds like hard work.|Does your {kin} like it?=Your {kin} is a {job}.
My favourite colour is {colour}.|I love {colour} best of all colours.=What's my favourite colour?|Which colour do I like best?={colour} is a fine colour.=Your favourite colour is {colour}.
I've bought a {colour} {thing}.|My {thing} is {colour}.|I have a {colour} {thing}.=What colour is my {thing}?|Which colour does my {thing} have?=A {colour} {thing}! Do you like it?=Your {thing} is {colour}.
I've just bought a {thing}.|I got a new {thing} today.=What have I bought?|What's new in my house?=Congratulations! What will you do with it?=A {thing}, you told me.
I lost my {thing} {spot}.|I left my {thing} {spot}.=Where did I lose my {thing}?|Where is my {thing}?=Oh no! I hope you find it.=You lost it {spot}.
I have {number} {kin}s.|I've got {number} {kin}s.=How many {kin}s do I have?|How many {kin}s have I got?=Is it loud at home with {number} of them?=You have {number} {kin}s.
I'm {number} years old.|I turned {number} last week.=How old am I?|What's my age?=That is a good age.=You are {number}.
I'm allergic to {food}.|I can't eat {food}.=What am I allergic to?|What can't I eat?=Then be careful at restaurants.=You can't eat {food}.
We're having {food} tonight.|I'm cooking {food} for dinner.=What are we having tonight?|What is for dinner?=That sounds tasty!=You are having {food}.
My birthday is in {month}.|I was born in {month}.=When is my birthday?|In which month was I born?={month} is a good month for a party.=In {month}.
I see the doctor on {day}.|My appointment is on {day}.=When is my appointment?|On which day do I have to go?=I hope it goes well.=On {day}.
I'm reading a book about {topic}.|My book is about {topic}.=What is my book about?|What am I reading about?=Is it a good one?|Do you read a lot?=It is about {topic}.
I'm learning {skill}.|I've started to learn {skill}.=What am I learning?|What have I started to learn?=That takes patience. How is it going?=You are learning {skill}.
I play the {instrument}.|I've played the {instrument} since school.=Which instrument do I play?|What do I play?=How nice! How often do you practise?=You play the {instrument}.
My {pet} ate my {thing}.|The {pet} has broken my {thing}.=What did the {pet} do?|What happened to my {thing}?=Oh dear! Was it an expensive {thing}?=Your {pet} got it.
""".strip().split("\n")
SLOTS = {
    "name": "Aaliyah|Abdul|Agnes|Aino|Alba|Amara|Andrzej|Anouk|Ariel|Astrid|Bashir|Beatriz|Bertie|Bianca|Bo|Callum|Carmen|Cedric"
    "|Chidi|Dagny|Daphne|Dario|Delphine|Diego|Dora|Edith|Eitan|Elif|Emeka|Enzo|Erika|Fabian|Faye|Filip|Fiona|Gareth|Gwen"
    "|Hamza|Hanako|Hector|Hilda|Ines|Iris|Ismail|Jasper|Jelena|Joaquin|Juno|Kenji|Klara|Lars|Leila|Linus|Lottie|Luca|Magda"
    "|Malik|Mei|Mirko|Molly|Nandini|Nico|Noor|Odette|Oskar|Paloma|Percy|Pilar|Quinn|Rafael|Renata|Rory|Saskia|Selma|Silas"
    "|Soren|Stella|Sven|Tamsin|Tobias|Ulla|Valentina|Viktor|Wren|Xenia|Yasmin|Yves|Zainab|Zoltan",
    "pet": "cat|dog|rabbit|parrot|horse|hamster|tortoise|goat",
    "kin": "sister|brother|son|daughter|aunt|cousin|friend|neighbour|grandchild",
    "place": "Athens|Bergen|Bogota|Boston|Brazil|Cairo|Canada|Cardiff|Cork|Delhi|Denmark|Dublin|Florence|Ghana|Glasgow|Greece"
    "|Hamburg|Hanoi|Iceland|Japan|Kansas|Krakow|Leeds|Lima|Lyon|Madrid|Malta|Melbourne|Mexico|Morocco|Naples|Norway|Oslo|Ottawa"
    "|Peru|Portugal|Prague|Quebec|Riga|Rome|Seoul|Sicily|Spain|Sweden|Texas|Tokyo|Turin|Utah|Vienna|Warsaw|York",
    "month": "January|February|March|April|May|June|July|August|September|November|December",
    "day": "Monday|Tuesday|Thursday|Friday|Saturday|Sunday",
    "job": "baker|carpenter|cook|dancer|dentist|driver|farmer|fisherman|gardener|judge|librarian|lawyer|mechanic|miner|nurse|painter"
    "|pharmacist|photographer|policeman|postman|sailor|singer|tailor|teacher|translator|vet|waiter|writer",
    "colour": "black|blue|brown|gold|green|grey|orange|pink|purple|red|silver|white",
    "thing": "bag|bicycle|boat|book|camera|car|chair|clock|coat|guitar|hat|jacket|kite|lamp|phone|piano|ring|sofa|suitcase|table"
    "|telescope|tent|umbrella|watch",
    "spot": "on the bus|at the beach|in the library|at work|on the train|in the garden|at the station|in the snow|at school",
    "number": "two|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|41|52|63",
    "food": "apples|bread|cheese|curry|eggs|fish|honey|milk|mushrooms|noodles|nuts|onions|pancakes|pizza|rice|salad|soup|tomatoes",
    "topic": "trees|Rome|the sea|bees|pirates|the Moon|trains|cooking|castles|a murder|the war|birds|mountains|chess|ghosts",
    "skill": "Spanish|Greek|Korean|Arabic|to swim|to sew|to paint|to drive|chess|sign language|to juggle|to dance",
    "instrument": "piano|flute|drums|guitar|cello|trumpet|harp|banjo|organ|clarinet",
}

_CLICHES = re.compile(
    r"\b(?:as an? (?:ai|artificial|assistant|language)|language model|assist(?:ance|ant)?\b|feel free|apologi[sz]e|happy to help|"
    r"glad to help|here to help|help you with|how (?:can|may) i help|i don't have (?:personal|the ability)|please provide|"
    r"clarify|let me know if|more information|consult|it(?:'s| is) important to|remember to|i understand (?:how|that) you|"
    r"python|code|openai|alibaba|qwen|anthropic|chatgpt|human:|user:)",
    re.IGNORECASE,
)
_PRETENDS = re.compile(
    r"\b(?:my (?:wife|husband|mother|father|mom|dad|sister|brother|kids?|children|boss|car|house|dog|cat)|"
    r"i (?:ate|went|live in|grew up|work (?:as|at|in)|drove|was born|bought))\b",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"(?:yeah|yes|yep|no|nope|so|but|and|or|true|that|these|those|this|he|she|it|they|his|her|its|oh|ok|okay|right|well|"
    r"me too|i (?:know|agree|see|think so|hope so)|exactly|really|then|of course|maybe|both|which)\b",
    re.IGNORECASE,
)
"""a beginning that leans on something said before"""
_OPENING = re.compile(r"\b(?:I|I'm|I've|my|My|we|We|you|You|your)\b|\?$")
_UNFIT = re.compile(r"https?:|[<>{}\[\]|@#*_=\\/]|[A-Z]{4,}|\d{3}|\bTom\b|\bMary\b")
_WORDS = (2, 22)
_MAX_COLUMNS = 3
"""more are a dialogue, whose first turn alone leans on nothing"""
_NUM_SHOTS = 2
_MAX_TIMES = 25
"""of one answer"""
_BETWEEN = (0, 5)
"""exchanges between a fact and the question"""


def openings(lines: Iterable[str], count: int, seed: int = 1) -> Iterator[str]:
    """What the teacher reads, so many in a new order: talks, and how the next one begins."""
    draw = random.Random(seed)
    least, most = _WORDS
    found: dict[str, None] = {}
    for line in lines:
        columns = line.split("\t")
        for text in columns[: 1 if len(columns) > _MAX_COLUMNS else None]:
            if least <= len(text.split()) <= most and _OPENING.search(text):
                if not _UNFIT.search(text) and not _LEANS.match(text):
                    found[plain(text)] = None
    texts = draw.sample(list(found), len(found))
    for text in itertools.islice(itertools.cycle(texts), count if texts else 0):
        shots = [_written(shot.split("|")) for shot in draw.sample(SHOTS, _NUM_SHOTS)]
        yield "\n\n".join([HEADER, *shots, f"{PERSON}{text}\n{REGARD.strip()}"])


def _written(turns: list[str]) -> str:
    return "\n".join(who + turn for who, turn in zip(itertools.cycle((PERSON, REGARD)), turns, strict=False))


class TalkFilter:
    """What a teacher wrote, as turns up to the first that will not do; flaws are counted."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._times: Counter[str] = Counter()

    def __call__(self, text: str) -> list[str]:
        """The turns, of which the last is an answer; none if the first answer will not do."""
        talk = to_lines(text).split("\n\n")[_NUM_SHOTS + 1]
        turns: list[str] = []
        for line, who in zip(talk.split("\n"), itertools.cycle((PERSON, REGARD)), strict=False):
            said = line.removeprefix(who.strip()).strip()
            flaw = "another form" if not line.startswith(who.strip()) else self._flaw(said, turns, who == REGARD)
            if flaw:
                self.dropped[flaw] += 1
                break
            turns.append(said)
        return turns[: len(turns) // 2 * 2]

    def _flaw(self, said: str, earlier: list[str], is_answer: bool) -> str:
        words = said.split()
        if not words or len(words) > 40 or said in earlier:
            return "empty, long or said before"
        if is_answer and said[-1] not in ".!?":
            return "cut"
        if _CLICHES.search(said) or _UNFIT.search(said):
            return "an assistant's words, or other signs"
        if is_answer and "program" in said and not re.search(r"\byou\b", earlier[-1], re.IGNORECASE):
            return "speaks of itself unasked"
        if is_answer and _PRETENDS.search(said):
            return "pretends to be a person"
        if is_answer and len(words) > 3:
            self._times[said.lower()] += 1
            if self._times[said.lower()] > _MAX_TIMES:
                return "said too often"
        return ""


def facts(count: int, seed: int = 1) -> Iterator[list[str]]:
    """Dialogues in which a fact is told, then other things are said, then the fact is asked for."""
    draw = random.Random(seed)
    between = [
        [draw.choice(turn) for turn in talk.turns] for talk in talks() if not talk.has_slots and talk.num_marks < 3
    ]
    for _ in range(count):
        told, asked, heard, known = (part.split("|") for part in draw.choice(FACTS).split("="))
        words = {slot: draw.choice(each.split("|")) for slot, each in SLOTS.items()}
        turns = [draw.choice(told), draw.choice(heard)]
        num_between = 2 * draw.randint(*_BETWEEN)
        while len(turns) < 2 + num_between:
            turns += draw.choice(between)[: 2 + num_between - len(turns)]
        turns += [draw.choice(asked), draw.choice(known)]
        filled = (
            [turn.format(**words) for turn in turns[:2]] + turns[2:-2] + [turn.format(**words) for turn in turns[-2:]]
        )
        small = draw.random() < 0.3
        said = (turn.lower().strip(".") if small and place % 2 == 0 else turn for place, turn in enumerate(filled))
        yield [turn[0].upper() + turn[1:] if place % 2 else turn for place, turn in enumerate(said)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["openings", "keep", "facts"])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    lines = itertools.chain.from_iterable(map(read_lines, options.files))
    if options.task == "openings":
        asked = openings(lines, options.count, options.seed)
        with open(options.output, "w", encoding="utf-8", newline="\n") as output:
            output.writelines(text.replace("\n", f" {MARK} ") + "\n" for text in asked)
        return
    judge = TalkFilter()
    found = facts(options.count, options.seed) if options.task == "facts" else map(judge, lines)
    with lzma.open(options.output, "wt", preset=1, encoding="utf-8", newline="\n") as output:
        output.writelines("\t".join(turns) + "\n" for turns in found if turns)
    for reason, times in judge.dropped.most_common():
        print(f"ended by: {reason} {times:,}")


if __name__ == "__main__":
    main()
