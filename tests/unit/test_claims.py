"""A name or a saying that nobody told is noticed, and gives way to one that was."""

from __future__ import annotations

import pytest

from regard.generate.claims import Told


@pytest.mark.parametrize(
    ("reply", "heard", "word"),
    [
        ("Nice to meet you, Bob! How are you?", ["I'm Ann."], "Bob"),
        ("Nice to meet you, Bob", ["I'm Ann."], "Bob"),
        ("Nice to meet you, Ann Bob.", ["I'm Ann."], "Ann Bob"),
        ("Nice to meet you, Ann! How are you?", ["hi, ann here"], None),
        ("Nice to meet you, I suppose.", ["I'm Ann."], None),
        ("Well, Rome is far, you know.", ["I'm Ann."], None),
        ("You said your name is Bob.", ["I'm Ann.", "Who am I?"], "Bob"),
        ("Yes, you told me that you are 44!", ["I am 43."], "44"),
        ("You said that you are 43.", ["I am 43."], None),
        ("You said that you like tea best.", ["My favourite is tea."], None),
        ("You said that you like tea best.", ["My favourite is milk."], "tea"),
        ("You said that you are in danger.", ["I'm Ann."], "danger"),
        ("Have you said anything yet?", ["I'm Ann."], None),
        ("Have you said it? You said Bob.", ["I'm Ann."], "Bob"),
        ("", [""], None),
        ("You said your name is jazz.", ["I'm Tom", "I love jazz", "Who am I?"], "jazz"),
        ("Your name is Rex, isn't it?", ["My dog's name is Rex.", "A dog called Rex"], "Rex"),
        ("You said your name is tired.", ["I am tired."], "tired"),
        ("You said your name is Tom.", ["Hi, I'm Tom.", "I love jazz"], None),
        ("You said your name is Tom.", ["i'm tom"], None),
        ("Your name is Tom.", ["My name is Tom Hill"], None),
        ("Your name is Tom.", ["call me tom"], None),
        ("Your name is Tom.", ["im tom"], None),
        ("Your name is Tom.", ["Tom."], None),
        ("Your name is Tom.", ["Tom, and yours?"], None),
        ("Your name is Tom.", ["hello, tom here"], None),
        ("Your name is not known to me.", ["hello"], None),
        ("You said your name is Hi.", ["Hi, I'm Nkechi!"], "Hi"),
        ("You have not told me yet.", ["I'm Ann.", "What is my name?"], ""),
        ("You have not told me yet.", ["I'm Ann.", "How old am I?"], None),
        ("You have not told me yet.", ["I'm German.", "What is my name?"], None),
        ("You have not told me yet.", ["hello", "who am i"], None),
        ("It is late.", ["I'm Ann.", "Do you still remember my name?"], ""),
        ("It is late.", ["I'm Ann.", "say my name!"], ""),
        ("You are visiting Ann.", ["I'm Ann.", "What's my name?"], ""),
        ("You are Ann.", ["I'm Ann.", "What's my name?"], None),
        ("Of course, Ann!", ["I'm Ann.", "Do you know my name?"], None),
        ("That is sad.", ["I'm Ann.", "People never remember my name."], None),
        ("I am not sure.", ["I'm Ann.", "How do you know my name?"], None),
        ("Now I do.", ["I'm Ann.", "Now you know my name."], None),
        ("What is your name?", ["I'm Ann."], "What is your name?"),
        ("How nice! And what's your name? Tell me.", ["I'm Ann."], " And what's your name?"),
        ("What is your name?", ["I'm tired."], None),
        ("What is your dog's name?", ["I'm Ann."], None),
        ("Nice to meet you, troubles you! Tea?", ["I am Bob"], "troubles you"),
        ("Nice to meet you, friend! Tea?", ["I am Bob"], None),
        ("Nice to meet you, Anne!", ["I'm Anne-Marie."], "Anne"),
        ("Your name is Jean.", ["My name is Jean-Baptiste."], "Jean"),
        ("Your name is Jean-Baptiste.", ["My name is Jean-Baptiste."], None),
    ],
)
def test_what_nobody_told(reply: str, heard: list[str], word: str | None) -> None:
    claim = Told(heard).false_claim(reply)
    assert (claim.word if claim else None) == word


@pytest.mark.parametrize(
    ("reply", "heard", "texts"),
    [
        ("Hello, Bob! Tea?", ["I'm Ann."], ["Hello, Ann! Tea?"]),
        ("Hello, Bob! Tea?", ["Ann!"], ["Hello, Ann! Tea?"]),
        ("Hello, Bob! Tea?", ['"Ann"'], ["Hello, Ann! Tea?"]),
        ("Hello, Bob! Tea?", ["My name is ann"], ["Hello! Tea?"]),
        ("Hello, Bob! Tea?", ["I like it. You and I do."], ["Hello! Tea?"]),
        ("You said Bob.", ["I'm Ann.", "In Rome I am."], ["You said Ann.", "You said Rome."]),
        ("You said Bob.", ["hello"], []),
        ("You said 44.", ["I'm Ann, 43."], ["You said 43."]),
        ("You said danger.", ["I'm Ann, 43."], []),
        ("Your name is jazz.", ["I'm Ann.", "In Rome I love jazz."], ["Your name is Ann."]),
        ("Your name is jazz.", ["I love jazz in Rome."], []),
        (
            "You have not told me yet. What is it?",
            ["hello, Zoë here", "whats my name"],
            ["You said your name is Zoë."],
        ),
        ("How nice! And what's your name? Tell me.", ["I'm Ann."], ["How nice! Tell me."]),
        ("Hello! What is your name?", ["I'm Ann.", "hi"], ["Hello!"]),
        ("What is your name?", ["I'm Ann."], ["Nice to meet you, Ann!"]),
        ("It is late.", ["I'm Ann.", "who am i"], ["You said your name is Ann."]),
        ("You said Bob.", ["I'm Ann.", "who am i"], ["You said your name is Ann."]),
        (
            "You said Bob.",
            ["at A, at B, at C, at D, at E, at B"],
            [f"You said {x}." for x in "BCDE"],
        ),
    ],
)
def test_what_is_said_instead(reply: str, heard: list[str], texts: list[str]) -> None:
    told = Told(heard)
    claim = told.false_claim(reply)
    assert claim and told.corrected(claim) == texts


@pytest.mark.parametrize(
    ("turn", "is_told"),
    [
        ("Tom here.", True),
        ("Hello, Zoë here", True),
        ("Hi, Tom here from the garage", True),
        ("Everyone here speaks so fast", False),
        ("Nobody here.", False),
        ("Sunny here, coffee's on", False),
        ("Life here is good", False),
        ("Tom is my name", True),
    ],
)
def test_who_is_here_is_told_by_a_first_name(turn: str, is_told: bool) -> None:
    assert Told([turn]).has_just_told_a_name is is_told
