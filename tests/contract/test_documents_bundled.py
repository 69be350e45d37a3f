"""A whole page through the command with the bundled model: valid, with every tag and placeholder."""

import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import html5lib

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
    cells = [forms[n % 4].format(who, does, what, n=n) for n, (who, does, what) in enumerate(sentences(count))]
    return "<!DOCTYPE html><html><body>\n" + "\n".join(cells) + "\n</body></html>\n"


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


def test_a_document_comes_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    before = make_html(40)
    path.write_text(before, encoding="utf-8")
    out = path.with_name("out.html")
    run = subprocess.run([*REGARD, "translate", path, "-o", out], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    check_html(before, out.read_text(encoding="utf-8"))
