"""Whatever a model answers, a document keeps everything but its words; if nothing changes, every byte."""

import asyncio
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, cast
from xml.etree import ElementTree

import html5lib
import polib
import pytest
import srt
from document_fixtures import BILINGUAL, DOCUMENTS, HOSTILE, encoded, same, translator
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from regard.documents.document import translate_document
from regard.errors import DataError
from regard.serve import answers
from regard.text.protected import placeholders

LANGUAGES = ("fr", "en")
IN_PLACE = [suffix for suffix in DOCUMENTS if suffix not in BILINGUAL]


def translated(suffix: str, kind: str) -> str:
    document = translate_document(encoded(suffix), suffix, translator(HOSTILE[kind]), languages=LANGUAGES)
    return document.data.decode("latin-1" if suffix == ".tmx" else "utf-8")


@pytest.mark.parametrize("suffix", IN_PLACE)
def test_the_same_words_give_the_same_bytes(suffix: str) -> None:
    document = translate_document(encoded(suffix), suffix, same)
    assert document.data == encoded(suffix)
    assert document.warnings == [] and len(document.segments) >= 2


MARKS = """<b> </b> <i\xa0a='1'> </i> <p> </p> <br> <!--x--> < > & &amp; &eacute; * ** _ ` [ ](u) \\ # -\xa0 >\xa0 | ---
``` 1.\xa0 %s {0} a Été\xa0 é " ' <img\xa0alt=Oui\xa0b> <code> </code> <pre> <script> </script>""".split("\n")
MARKS = [mark.replace("\xa0", " ") for line in MARKS for mark in line.split(" ")]
MARKS += [" ", "    ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u2028"]
MARKS += ["<i title='Un chat'>", '<a b="é" title="Un  chat &amp; %s">', "1\n00:00:01,000 --> 00:00:02,000\n"]  # fmt: skip


@pytest.mark.parametrize("suffix", IN_PLACE)
@settings(max_examples=120)
@given(marks=st.lists(st.sampled_from(MARKS), max_size=30))
def test_any_text_comes_back_as_it_was(suffix: str, marks: list[str]) -> None:
    data = "".join(marks).encode()
    assert translate_document(data, suffix, same).data == data


LONG = ["<a=", "<!-- ", "<b>a", "&a", "*a ", "[a](", "``a` ", "| a ", "![", "[^a]: b\n", "{{", "a@a.", "<b title=a/", "1.", "--\n", "('"]  # fmt: skip


@pytest.mark.timeout(75)
@pytest.mark.parametrize("suffix", [".html", ".md", ".srt", ".txt", ".po", ".xliff"])
def test_hostile_documents_come_back_in_linear_time(suffix: str) -> None:
    """With quadratic time a case of 10,000 characters would meet the time limit of the test."""
    begin = "1\n00:00:01,000 --> 00:00:02,000\n" if suffix == ".srt" else ""
    for unit in LONG:
        data = (begin + unit * (10_000 // len(unit))).encode()
        try:
            found = translate_document(data, suffix, same).data
        except DataError:
            assert suffix in BILINGUAL, unit
        else:
            assert found == data, unit


@pytest.mark.parametrize("kind", HOSTILE)
def test_html_subtitles_and_catalogues_keep_what_is_fixed(kind: str) -> None:
    before = DOCUMENTS[".html"].replace('<html lang="fr">', '<html lang="en">')
    after = translated(".html", kind)
    tags = re.compile(r"""<!--.*?-->|</?[a-zA-Z](?:"[^"]*"|'[^']*'|[^<>"'])*>""", re.DOTALL)
    said = re.compile(r"""(alt|title)=("[^"]*"|'[^']*')""")
    kept = [[said.sub(r"\1", tag) for tag in tags.findall(each)] for each in (before, after)]
    assert Counter(kept[0]) == Counter(kept[1])
    assert placeholders(said.sub("", after)) == placeholders(said.sub("", before))
    for sign in ("&copy;", "&gt;"):
        assert after.count(sign) >= before.count(sign)
    for kept in re.findall(r"<(?:style|script|pre|code).*?</\w+>", before):
        assert kept in after
    before, after = list(srt.parse(DOCUMENTS[".srt"])), list(srt.parse(translated(".srt", kind)))
    fixed = [[(c.index, c.start, c.end, c.proprietary) for c in cues] for cues in (before, after)]
    assert fixed[0] == fixed[1]
    tags = re.compile(r"<[^<>]*>|\{[^{}]*\}|♪|%s")
    for old, new in zip(before, after, strict=True):
        assert Counter(tags.findall(new.content)) == Counter(tags.findall(old.content))
    before, after = DOCUMENTS[".vtt"], translated(".vtt", kind)
    fixed = re.compile(r"^(?:.*-->.*|WEBVTT.*|NOTE.*|STYLE|::cue.*|intro)$", re.MULTILINE)
    assert fixed.findall(after) == fixed.findall(before)
    assert not re.search("&(?!amp;|lt;|gt;)", after)
    tags = re.compile(r"<[^<>]*>|&gt;")
    for tag, number in Counter(tags.findall(before)).items():
        assert tags.findall(after).count(tag) >= number
    assert len(re.findall("\n\n", after)) == len(re.findall("\n\n", before))
    old, new = polib.pofile(DOCUMENTS[".po"]), polib.pofile(translated(".po", kind))
    assert len(new.obsolete_entries()) == 1 and new.metadata == old.metadata
    before, after = ([each for each in file if not each.obsolete] for file in (old, new))
    assert len(after) == len(before) == 3
    for old, new in zip(before, after, strict=True):
        for field in ("msgid", "msgid_plural", "msgctxt", "comment", "occurrences"):
            assert getattr(new, field) == getattr(old, field)
        assert set(old.flags) <= set(new.flags) <= {*old.flags, "fuzzy"}
    first, known, plural = after
    assert placeholders(first.msgstr) == placeholders(first.msgid)
    assert first.msgstr.endswith("\n") and known.msgstr == "already"
    assert placeholders(plural.msgstr_plural[1]) == placeholders(plural.msgid_plural)


@settings(max_examples=100)
@given(marks=st.lists(st.sampled_from(MARKS), max_size=30), kind=st.sampled_from(list(HOSTILE)))
def test_html_has_the_same_tree_of_blocks(marks: list[str], kind: str) -> None:
    """An independent parser, which reads as browsers do, finds the same elements."""
    text = "<div>" + "".join(mark for mark in marks if mark != "<") + "</div>"
    document = translate_document(text.encode(), ".html", translator(HOSTILE[kind]))
    before, after = (html5lib.parse(each, namespaceHTMLElements=False) for each in (text, document.data.decode()))
    assert elements(after) == elements(before)


def elements(tree: ElementTree.Element) -> Counter[str]:
    found = [each for each in tree.iter() if isinstance(each.tag, str)]
    return Counter(" ".join([each.tag, *each.keys(), *each.attrib.get("b", "")]) for each in found)


@pytest.mark.parametrize("suffix", [".xliff", ".xlf", ".tmx"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_xml_stays_well_formed_with_every_code(suffix: str, kind: str) -> None:
    encoding = "latin-1" if suffix == ".tmx" else "utf-8"
    texts = (DOCUMENTS[suffix], translated(suffix, kind))
    trees = [ElementTree.fromstring(text.encode(encoding)) for text in texts]
    after, pairs = trees[1], []
    for unit in after.iter():
        sides = {each.tag.split("}")[-1]: each for each in unit}
        if unit.tag == "tu":
            pairs.append([each.find("seg") for each in unit])
        elif "target" in sides and unit.get("id") != "4":
            pairs.append([sides["source"], sides["target"]])
    assert pairs
    for source, target in pairs:
        assert source is not None and target is not None and codes(target) == codes(source)
        assert placeholders("".join(target.itertext())) == placeholders("".join(source.itertext()))
    sources = [[ElementTree.tostring(each) for each in tree.iter() if each.tag.endswith("source")] for tree in trees]
    assert sources[0] == sources[1]


def codes(element: ElementTree.Element) -> Counter[tuple[str, str]]:
    return Counter((each.tag, str(sorted(each.attrib.items()))) for each in element.iter() if each is not element)


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind != "silent"])
def test_markdown_has_the_same_blocks(kind: str) -> None:
    """An independent parser finds the same headings, lists, tables and quotations."""
    parser = MarkdownIt("commonmark").enable("table")
    before, after = (
        # It knows no footnotes and takes them for links.
        [(token.type, token.tag, token.level) for token in parser.parse(text.replace("[^1]", "1"))]
        for text in (DOCUMENTS[".md"], translated(".md", kind))
    )
    assert after == before


@pytest.mark.parametrize("suffix, unit", [(".md", "["), (".md", "*a "), (".html", "<b>")])
def test_even_one_paragraph_is_cancelled_midway(suffix: str, unit: str) -> None:
    asked = count()
    translate_document((unit * 1009).encode(), suffix, same, is_cancelled=lambda: next(asked) < 0)
    assert next(asked) > 1000


def test_the_server_drops_a_file_when_its_client_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_of_the_model: list[str] = []
    threads = ThreadPoolExecutor(1)
    monkeypatch.setattr(answers, "document_threads", threads)

    class Model:
        def __getattr__(self, name: str) -> object:
            asked_of_the_model.append(name)
            raise AttributeError(name)

    async def begin_and_leave() -> None:
        data = b"mot *a " * 10_007
        task = asyncio.create_task(answers.translate_file(cast(Any, Model()), data, ".md", LANGUAGES))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_leave())
    threads.shutdown(wait=True)
    assert asked_of_the_model == []
