"""Addresses of repositories: their secrets are never shown, and no part of them becomes an option of git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cairn.errors import InvalidRequestError, TeamError
from cairn.team.git_source import open_source, place_of, read_address, without_secrets


@pytest.mark.parametrize(
    ("given", "shown", "name"),
    [
        ("https://ada:s3cret@host.org/group/port.git", "https://host.org/group/port.git", "port"),
        ("https://t0ken@host.org/port/", "https://host.org/port/", "port"),
        ("ssh://git:s3cret@host.org:22/port.git", "ssh://git@host.org:22/port.git", "port"),
        ("git@host.org:group/port.git", "git@host.org:group/port.git", "port"),
        ("http://host.org/port", "http://host.org/port", "port"),
    ],
)
def test_url_is_shown_without_secrets(given: str, shown: str, name: str) -> None:
    address = read_address(given)
    assert (address.url, address.name) == (shown, name)
    assert "s3cret" not in repr(address)
    assert "t0ken" not in repr(address)


def test_password_is_decoded_for_git() -> None:
    address = read_address("https://ada:p%40ss@host.org/port.git")
    assert (address.user, address.password) == ("ada", "p@ss")


@pytest.mark.parametrize(
    "given",
    ["--upload-pack=touch x", "-c", "ext::sh -c touch% x", "ext://x", "", "nowhere", "https://a b", "fd::7",
     "-oProxyCommand=x@host:port", "-x@host:port", "ssh://-oProxyCommand=x/port", "ssh://-x@host/port"],
)  # fmt: skip
def test_other_sources_are_refused(given: str) -> None:
    with pytest.raises(InvalidRequestError):
        read_address(given)


def test_one_place_has_many_spellings() -> None:
    spellings = (
        "https://u:p@Host.org/A/b.git",
        "ssh://git@host.org/a/b",
        "git@host.org:a/b.git",
        "http://host.org/a/b/",
    )
    assert {place_of(without_secrets(each)) for each in spellings} == {"host.org/a/b"}
    assert place_of("/srv/a/b") == place_of("file:///srv/a/b") == ""


def test_error_of_a_fetch_does_not_contain_the_password(tmp_path: Path, bare_data_dir: Path) -> None:
    address = read_address("http://ada:s3cret@127.0.0.1:9/port.git")
    with (
        pytest.raises(TeamError, match=r"git cannot fetch http://127\.0\.0\.1:9/port\.git") as raised,
        open_source(address, tmp_path, lambda text: None),
    ):
        pass
    assert "s3cret" not in str(raised.value)


def test_hooks_of_a_clone_do_not_run(
    tmp_path: Path, bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for hook in ("reference-transaction", "post-checkout", "post-index-change"):
        (template / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (template / hook).chmod(0o755)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template.parent))
    remote = tmp_path / "remote"
    run = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null")
    subprocess.run((*run, "init", "--quiet", str(remote)), check=True)
    subprocess.run((*run, "commit", "--quiet", "--allow-empty", "-m", "x"), cwd=remote, check=True)
    (tmp_path / "work").mkdir()
    with open_source(read_address(f"file://{remote}"), tmp_path / "work", lambda text: None) as repository:
        assert repository.resolve(None).commit
    assert not (tmp_path / "ran").exists()
