"""The files of deploy/: what they copy is there, what they set is a setting, and systemd takes the unit."""

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from regard.cli.serve import serve

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy"
CONTAINERFILE = (FOLDER / "Containerfile").read_text().replace("\\\n", " ")


def test_what_is_set_is_a_setting() -> None:
    options = [each.__metadata__[0] for each in inspect.get_annotations(serve, eval_str=True).values() if each]
    settings = {each.envvar for each in options} | {"REGARD_KEYS", "REGARD_MODELS"}
    for path in FOLDER.iterdir():
        found = set(re.findall(r"\bREGARD_\w+", path.read_text()))
        assert found <= settings, path
        assert found or path.name == "compose.gpu.yaml"


def test_the_containerfile_copies_what_is_there_and_the_compose_files_fit_it() -> None:
    stages = re.findall(r"^FROM (\S+) AS (\w+)$", CONTAINERFILE, re.MULTILINE)
    assert [name for _, name in stages] == ["base", "cuda", "cpu"]  # the last is what is built where none is named
    assert CONTAINERFILE.count("USER regard\n") == 2 and 'ENTRYPOINT ["regard", "serve"]' in CONTAINERFILE
    lines = re.findall(r"^COPY (.+)$", CONTAINERFILE, re.MULTILINE)
    copied = {source for line in lines for source in line.split()[:-1]}
    assert all((ROOT / source).exists() for source in copied)
    text = {"README.md", "LICENSE", "requirements.txt", "constraints.txt"}
    assert copied == {"pyproject.toml", "hatch_build.py", "src/regard", "recipes"} | text
    for name in ("compose.yaml", "compose.gpu.yaml"):
        [about] = yaml.safe_load((FOLDER / name).read_text())["services"].values()
        assert f" AS {about['build']['target']}\n" in CONTAINERFILE
        for port in about.get("ports", ()):
            number = port.split(":")[-1]
            assert port == f"127.0.0.1:{number}:{number}" and f"EXPOSE {number}\n" in CONTAINERFILE
        assert all(f"={each.split(':')[1]}" in CONTAINERFILE for each in about.get("volumes", ()))


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (FOLDER / "regard.service").read_text()
    assert "ExecStart=/opt/regard/bin/regard serve\n" in text and "DynamicUser=yes\n" in text
    if shutil.which("systemd-analyze"):
        # It wants the program to be there, and names what it does not know without failing.
        (tmp_path / "regard.service").write_text(text.replace("/opt/regard/bin/regard", sys.executable))
        command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "regard.service")]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0 and run.stderr == ""
