"""Whole documents through the command with the bundled model: valid, with every tag, placeholder and timing."""

import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import html5lib
import polib
import pytest
import srt

from regard.text.protected import placeholders

REGARD = [sys.executable, "-m", "regard"]

WHO = ["Jane", "Le petit chat", "Mon voisin", "La directrice", "Notre équipe", "Un vieil homme", "Cette ville"]  # fmt: skip
DOES = ["visite", "regarde", "cherche", "oublie", "attend", "décrit"]
WHAT = ["la grande maison", "un livre rouge", "les nouveaux messages", "le dernier train", "son ancien jardin"]  # fmt: skip


def sentences(count: int) -> list[tuple[str, str, str]]:
    """Subject, verb and object; no two alike."""
    return list(itertools.islice(itertools.cycle(itertools.product(WHO, DOES, WHAT)), count))


def make_html(count: int) -> str:
    forms = [
        "<p>{} <b>{}</b> <a href='#{n}' title=\"x>y\">{}</a>.</p>",
        "<li><i>{}</i> {} <strong>{}</strong> &amp; %s.</li>",
        "<td>{} {} {{name}} et <code>x{n}</code> dans {}&nbsp;!</td>",
        "<h2 id='h{n}'>{} {}<br>{} <img src='{n}.png' alt='image'></h2>",
    ]
    cells = [
        forms[n % 4].format(who, does, what, n=n)
        for n, (who, does, what) in enumerate(sentences(count))
    ]
    return "<!DOCTYPE html><html><body>\n" + "\n".join(cells) + "\n</body></html>\n"


def make_srt(count: int) -> str:
    cues = []
    for n, (who, does, what) in enumerate(sentences(count)):
        text = (
            f"<i>{who}</i> {does}\n{what}."
            if n % 2
            else f"- {who} {does} ?\n- {{\\an8}}Oui, {what}."
        )
        cues.append(f"{n + 1}\n00:{n // 60:02d}:{n % 60:02d},100 --> 00:{n // 60:02d}:{n % 60:02d},900\n{text}\n")  # fmt: skip
    return "\n".join(cues)


def make_po(count: int) -> str:
    forms = [
        "{} {} {} : %s",
        "%(count)d fois, {} {} <b>{}</b>.",
        "{} {} {{0}} et {{name}} dans {}.\\n",
    ]
    entries = ['msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n']
    for n, (who, does, what) in enumerate(sentences(count)):
        text = forms[n % 3].format(who, does, what)
        entries.append(f'#: a.c:{n}\nmsgctxt "{n}"\nmsgid "{text}"\nmsgstr ""\n')
    return "\n".join(entries)


def translate(path: Path) -> str:
    out = path.with_name(f"out-{path.name}")
    run = subprocess.run([*REGARD, "translate", path, "-o", out], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return out.read_text(encoding="utf-8")


def check_html(before: str, after: str) -> None:
    tag = re.compile(r"""</?[a-zA-Z](?:"[^"]*"|'[^']*'|[^<>"'])*>""")
    lines = list(zip(before.splitlines(), after.splitlines(), strict=True))
    for old, new in lines:
        assert Counter(tag.findall(new)) == Counter(tag.findall(old))
        assert placeholders(tag.sub("", new)) == placeholders(tag.sub("", old))
        # A sign may become the word for it, but none is left unspelt.
        assert new.count("&") == new.count("&amp;") <= old.count("&amp;")
    assert sum(old != new for old, new in lines) >= len(lines) - 10
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    trees = [Counter(str(e.tag) for e in parser.parse(text).iter()) for text in (before, after)]
    assert trees[0] == trees[1]


def check_srt(before: str, after: str) -> None:
    old, new = list(srt.parse(before)), list(srt.parse(after))
    assert [(c.index, c.start, c.end) for c in new] == [(c.index, c.start, c.end) for c in old]
    assert re.findall(".*-->.*", after) == re.findall(".*-->.*", before)
    for one, other in zip(old, new, strict=True):
        code = re.compile(r"<[^<>]*>|\{[^{}]*\}|^- ", re.MULTILINE)
        assert sorted(code.findall(other.content)) == sorted(code.findall(one.content))
        assert len(other.content.splitlines()) == 2


def check_po(before: str, after: str) -> None:
    old, new = polib.pofile(before), polib.pofile(after)
    assert len(new) == len(old) and len(new.untranslated_entries()) == 0
    for entry in new:
        assert placeholders(entry.msgstr) == placeholders(entry.msgid)
        assert entry.msgstr.count("<b>") == entry.msgstr.count("</b>") == entry.msgid.count("<b>")
        assert entry.msgstr.endswith("\n") == entry.msgid.endswith("\n")
    assert [entry.msgid for entry in new] == [entry.msgid for entry in old]


KINDS = {
    ".html": (make_html, check_html),
    ".srt": (make_srt, check_srt),
    ".po": (make_po, check_po),
}


@pytest.mark.parametrize("suffix", KINDS)
def test_a_document_comes_back_whole(suffix: str, tmp_path: Path) -> None:
    make, check = KINDS[suffix]
    path = tmp_path / f"a{suffix}"
    before = make(24)
    path.write_text(before, encoding="utf-8")
    check(before, translate(path))


def test_many_equal_lines_and_a_reader_of_one() -> None:
    lines = f"yes 'Bonjour le monde.' | head -3000 | {' '.join(REGARD)} translate"
    counted = subprocess.run(["bash", "-c", f"{lines} | wc -l"], capture_output=True, text=True)
    assert counted.stdout.strip() == "3000" and counted.stderr == ""
    first = subprocess.run(["bash", "-c", f"{lines} | head -1"], capture_output=True, text=True)
    assert first.stdout.count("\n") == 1 and first.stderr == ""
