"""A private translator without a server: the translate page and the look page as a folder for any static host.

The browser fetches the weights once and keeps them. A folder that holds such a site already gets another model.
"""

import json
import shutil
from importlib import resources
from pathlib import Path

from regard.errors import UsageError
from regard.files import write_file
from regard.folder.checkpoint import CARD, WEIGHTS
from regard.folder.manifest import CONFIG
from regard.look import page_engine
from regard.look.document import document
from regard.look.session import Session
from regard.look.single_file import as_json, fill_page, read_page
from regard.look.subject import Subject

MODELS = "models.json"
EXAMPLES = {"fr": "Jane visite l'Afrique en septembre.", "en": "Jane visits Africa in September."}
"""first text of the look page by the language that is read"""
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; worker-src blob:; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
)
_NOTE = '<p class="note">Your browser translates; nothing is sent anywhere. It finds sentence ends by fewer rules than regard.</p>'
_PAGE = resources.files("regard.serve") / "page"


def write_site(folder: Path, output: Path) -> None:
    """Write the site of a model, or add the model to a site."""
    if output.is_dir() and any(output.iterdir()) and not (output / MODELS).is_file():
        raise UsageError(
            f"a site is written into a new or empty folder, or added to a site: {output} holds other files; name another"
        )
    subject = Subject.open(folder)
    if hindrance := page_engine.hindrance(subject):
        raise UsageError(f"a site's model must run in a browser: {folder} does not. {hindrance} Use regard serve")
    manifest = subject.manifest
    text = EXAMPLES.get(manifest.source_language or manifest.target_language, "…")
    session = Session(subject, text, manifest.decode)
    (output / subject.name).mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, CARD, WEIGHTS, *manifest.tokenizer.names):
        shutil.copyfile(folder / name, output / subject.name / name)
    known = json.loads((output / MODELS).read_bytes())["models"] if (output / MODELS).is_file() else []
    own = page_engine.model(session.original, lambda name: {"url": f"{subject.name}/{name}"})
    models = [own, *(each for each in known if each["name"] != subject.name)]
    script, setup = page_engine.script(), page_engine.setup(session, models)
    contents = {"regard-engine": script.replace("</script", "<\\/script"), "regard-models": as_json(setup)}
    look = fill_page(text, {"document": document(session), "tensors": {}}, contents)
    files = {"look.html": look, "index.html": look, MODELS: json.dumps(setup, ensure_ascii=False)}
    if manifest.task == "translate":
        own_page = {each.name: each for each in _PAGE.iterdir() if not each.name.endswith((".ts", ".json"))}
        shutil.copyfile(str(own_page.pop("favicon.ico")), output / "favicon.ico")
        files |= {name: path.read_text(encoding="utf-8") for name, path in own_page.items()}
        meta = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        page = files["index.html"].replace("<head>", f"<head>\n{meta}", 1)
        files["index.html"] = page.replace("<main", f"{_NOTE}\n<main", 1)
        files |= {f"{name}.js": read_page(f"engine/{name}.js") for name in ("server", "client")}
        files["engine.js"] = script
    for name, text in files.items():
        write_file(output / name, text.encode())
