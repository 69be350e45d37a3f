"""Real office files, written by LibreOffice from flat OpenDocument text."""

import subprocess
from pathlib import Path

from browser.find_tools import find_office

_NAMESPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in [
        ("office", "office"), ("text", "text"), ("style", "style"), ("table", "table"), ("draw", "drawing"),
        ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"), ("presentation", "presentation"),
    ]
)  # fmt: skip
_HEAD = f'<?xml version="1.0"?><office:document {_NAMESPACES} xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2"'
_STYLES = (
    '<office:automatic-styles><style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/>'
    '</style:style><style:style style:name="I" style:family="text"><style:text-properties fo:font-style="italic"/>'
    '</style:style><style:page-layout style:name="L"/>{}</office:automatic-styles>'
)
_BOLD = '<text:span text:style-name="B">{}</text:span>'
_ITALIC = '<text:span text:style-name="I">{}</text:span>'
_TEXT = (
    f'{_HEAD} office:mimetype="application/vnd.oasis.opendocument.text">'
    + _STYLES.format("")
    + '<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="L">'
    "<style:header><text:p>Le petit journal</text:p></style:header>"
    "<style:footer><text:p>Une page de la maison</text:p></style:footer></style:master-page></office:master-styles>"
    '<office:body><office:text><text:h text:outline-level="1">Le grand livre</text:h>'
    f"<text:p>Le chat {_BOLD.format('noir')} dort sur la {_ITALIC.format('table rouge')}"
    '<text:note text:id="n1" text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
    "<text:p>Une note sur le chat.</text:p></text:note-body></text:note>, dans la maison.</text:p>"
    '<text:p>Voir <text:a xlink:type="simple" xlink:href="http://example.org/">notre page</text:a> aujourd\'hui.'
    "<text:line-break/>Une autre ligne.<text:tab/>Et une autre.</text:p>"
    '<table:table table:name="T"><table:table-column table:number-columns-repeated="2"/><table:table-row>'
    "<table:table-cell><text:p>Le chien</text:p></table:table-cell><table:table-cell><text:p>Lundi matin</text:p>"
    "</table:table-cell></table:table-row></table:table>"
    '<text:p><draw:frame text:anchor-type="paragraph" svg:width="5cm" svg:height="2cm"><draw:text-box>'
    "<text:p>Un texte dans un cadre.</text:p></draw:text-box></draw:frame>Autour du cadre.</text:p>"
    "</office:text></office:body></office:document>"
)
_SLIDES = (
    f'{_HEAD} office:mimetype="application/vnd.oasis.opendocument.presentation">'
    + _STYLES.format('<style:style style:name="P" style:family="drawing-page"/>')
    + '<office:master-styles><style:master-page style:name="M" style:page-layout-name="L" draw:style-name="P"/>'
    "</office:master-styles><office:body><office:presentation>"
    '<draw:page draw:name="one" draw:master-page-name="M"><draw:frame svg:x="1cm" svg:y="1cm" svg:width="20cm" '
    f'svg:height="5cm"><draw:text-box><text:p>Le chat {_BOLD.format("noir")} dort.</text:p></draw:text-box></draw:frame>'
    '<presentation:notes><draw:frame presentation:class="notes" svg:x="1cm" svg:y="10cm" svg:width="15cm" '
    'svg:height="8cm"><draw:text-box><text:p>Une note pour la page.</text:p></draw:text-box></draw:frame>'
    "</presentation:notes></draw:page></office:presentation></office:body></office:document>"
)
_FILTERS = {".docx": "docx:MS Word 2007 XML", ".odt": "odt", ".pptx": "pptx:Impress MS PowerPoint 2007 XML"}


def convert(path: Path, to: str, folder: Path) -> Path:
    """What LibreOffice makes of a file; it fails where it cannot open it."""
    office = find_office()
    assert office is not None, "run python tests/browser/find_tools.py"
    # One for all conversions of a process: to make its settings takes LibreOffice longer than to convert a file.
    profile = f"-env:UserInstallation={(folder.parent / 'office').as_uri()}"
    command = [office, profile, "--headless", "--convert-to", to, "--outdir", str(folder), str(path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    made = folder / f"{path.stem}.{to.partition(':')[0]}"
    assert made.is_file(), found.stdout + found.stderr
    return made


def make_document(suffix: str, folder: Path) -> Path:
    flat = folder / f"page.{'fodp' if suffix == '.pptx' else 'fodt'}"
    flat.write_text(_SLIDES if suffix == ".pptx" else _TEXT, "utf-8")
    return convert(flat, _FILTERS[suffix], folder)
