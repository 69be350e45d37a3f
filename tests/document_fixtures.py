"""Stand-ins for a model, and documents of every format with everything in them that must come back."""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    text: str
    alignment: None = None


def same(texts: list[str]) -> list[Answer]:
    return [Answer(text) for text in texts]


def translator(change: Callable[[str], str]) -> Callable[[list[str]], list[Answer]]:
    return lambda texts: [Answer(change(text)) for text in texts]


# What a bad model may do to a text.
HOSTILE: dict[str, Callable[[str], str]] = {
    "backwards": lambda text: " ".join(reversed(text.split(" "))),
    "loud": str.upper,
    "silent": lambda text: "",
    "one word": lambda text: "word",
    "twice": lambda text: f"{text} {text}",
    "markup": lambda text: f"<b>& {text}</i> <x id='9'/> %s {{0}} &amp; <!-- ",
    "lines": lambda text: text.replace(" ", "\n") + "\n\n1\n00:00:01,000 --> 00:00:02,000\r\n# - ",
    "marks": lambda text: f"*_`[{text}](x)~~ \\ \" ' \u2028 \x00 \x1b",
    "letters": lambda text: re.sub(r"\w", "é", text),
}

HTML = """<!DOCTYPE html>
<html lang="fr"><head><meta charset="utf-8"><title>Bonjour &amp; bienvenue</title>
<style>p > b { color: red }</style><script>if (a<b) x("<p>Non</p>");</script></head>
<body><!-- un commentaire <b> -->
<p class="x">Bonjour <b>tout le <i>monde</i></b>, voil&agrave; <a href="a>b" title='d"e'>un lien</a>&nbsp;!<br>
   Oui <img src=x alt="un chat"> et R&D &copy; 5 < 6 </p><pre>du code</pre>
<p>Tapez <code>ls -l &gt; x</code> ou <span translate="no">Apple Store</span> ici <b>tr&egrave;s</b> vite
   et bien&#8239;: %s, {name}, <em></em>%(count)d.</p><table><tr><td>Un<td>Deux</table>
<textarea>Du texte, 1 < 2</textarea><p>fin mal fermée 100 % des <b>gens
</body></html>
"""

SRT = """1\r
00:00:01,000 --> 00:00:02,500\r
<i>Bonjour tout\r
le monde</i>\r
\r
2\r
00:00:03,000 --> 00:00:04,500  X1:40 X2:600\r
- Oui, {\\an8}%s ?\r
- <font color="#fff">Non</font> ! ♪ La la ♪\r
3\r
00:00:05,000 --> 00:00:06,500\r
Fin"""

VTT = """WEBVTT - titre

NOTE un commentaire
sur deux lignes

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.500 align:start
<v Jane>Bonjour <c.yellow>tout</c> le <00:00:02.000>monde &amp; toi

00:03.000 --> 00:04.500
Oui --&gt; non
"""

PO = """# Un commentaire
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"

#. pour le traducteur
#: a.c:3
#, c-format
msgctxt "menu"
msgid "Bonjour %s, vous avez <b>%d messages</b>.\\n"
msgstr ""

msgid "déjà"
msgstr "already"

msgid "un fichier"
msgid_plural ""
"%d fichiers\\n"
"et \\"plus\\"\\t\\\\ là"
msgstr[0] ""
msgstr[1] ""

#~ msgid "vieux"
#~ msgstr ""
"""

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="fr" datatype="plaintext"><body>
  <trans-unit id="1">
    <source>Bonjour <g id="1">tout <x id="2"/>le</g> monde &amp; %s</source>
    <note>Ne pas toucher</note>
  </trans-unit>
  <trans-unit id="2"><source>Un <bpt id="1">&lt;b&gt;</bpt>gras<ept id="1">&lt;/b&gt;</ept> ici</source><target state="new"/></trans-unit>
  <trans-unit id="3" translate="no"><source>Non</source></trans-unit>
  <trans-unit id="4"><source>Déjà</source><target>Already</target></trans-unit>
  <trans-unit id="5"><source><bx id="1"/>Un <bx id="2"/>deux<ex id="1"/> trois<ex id="2"/> <![CDATA[et < plus]]></source></trans-unit>
</body></file></xliff>
"""

XLIFF2 = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="fr">
 <file id="f"><unit id="u"><segment id="s"><source>Un <pc id="1">chat <ph id="2"/></pc> noir</source></segment>
 <ignorable><source> </source></ignorable></unit></file></xliff>
"""

TMX = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="fr" datatype="x"/><body>
<tu>
  <tuv xml:lang="fr-FR"><seg>Été <bpt i="1" x="1">{\\b</bpt>chaud<ept i="1">}</ept> &amp; beau !</seg></tuv>
</tu>
<tu><tuv xml:lang="FR"><seg>Oui</seg></tuv><tuv xml:lang="EN"><seg/></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Chat</seg></tuv><tuv xml:lang="en"><seg>Cat</seg></tuv></tu></body></tmx>
"""

MARKDOWN = """---
titre: Non
---
# Un *titre* ici #

Un paragraphe avec **du gras et _italique_**, du `code --x`,
un [lien](http://x.org/a_(b) "T") et une ![image](a.png).
Une étoile 2 * 3 et a_b_c \\* fin.
Après la coupure [réf] et [texte][réf] <https://x.org> note[^1].

> Une citation
> sur deux lignes
>
> - un élément
>   qui continue

- [ ] tâche *une*
- deux

      code dans la liste
1. premier
   suite du premier

   ```python
   print("non")
   ```

| Nom | Âge |
|-----|----:|
| Le chat | trois `ab` |

<div class="x">
<p>Un <b>bloc</b> HTML</p>
</div>

***

Titre
=====

[réf]: http://example.org "titre"
[^1]: Une note.
~~~
code
~~~
Fin &amp; suite""".replace("* fin.\n", "* fin.  \n")

TXT = """Bonjour %s, vous avez {n} messages.\r
\r
  Oui.  Non \r
Un texte qui continue sur une ligne bien longue, puis\r
qui va encore plus loin que la première, et finit\r
ici.\r
\tavec une tabulation\x0c\r
"""

DOCUMENTS = {
    ".html": HTML, ".srt": SRT, ".vtt": VTT, ".po": PO, ".xliff": XLIFF, ".xlf": XLIFF2, ".tmx": TMX,
    ".md": MARKDOWN, ".txt": TXT,
}  # fmt: skip

# Those whose translations stand beside the source, not in its place.
BILINGUAL = (".po", ".xliff", ".xlf", ".tmx")


def encoded(suffix: str) -> bytes:
    return DOCUMENTS[suffix].encode("latin-1" if suffix == ".tmx" else "utf-8")
