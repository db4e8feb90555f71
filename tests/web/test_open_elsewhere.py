"""`cairn open URL` gives tokens and proofs only to the servers that they are for."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.index.postgres.test_tls import TRUSTED
from tests.serving import Served
from tests.web.impostor import Respond, impostor, redirects, relays_to, repeats, response, trickles
from tests.web.test_open import enters

from cairn.errors import CairnError
from cairn.index.remote.team_server import TeamServer, TeamUnavailableError
from cairn.operations.tokens import serve_token
from cairn.paths import workspace_dir, write_private
from cairn.serve import open_page as opening
from cairn.serve.open_page import is_unused, link_at
from cairn.serve.page_records import page_records, recorded_url

TEAM_TOKEN = "cairn_token-of-the-team"
LINK = "/ui/sign-in?code=made-up"
REDIRECTS = (301, 302, 303, 307, 308)
HOSTS = ("127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "127.1", "0")
"""Names of this machine, some of which lead to [::1] in other programs."""

root_only = pytest.mark.skipif(
    sys.platform == "win32" or os.getuid() != 0, reason="only root can act for another user"
)


@pytest.fixture(autouse=True)
def tokens(bare_data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """This machine's token, and a team's."""
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", TEAM_TOKEN)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return serve_token().value, TEAM_TOKEN


@pytest.fixture
def same_user(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process the data folder of the running server."""
    monkeypatch.setenv("CAIRN_DATA_DIR", str(Path(served.addresses["tokenFile"]).parent))


def refusal(url: str) -> str:
    with pytest.raises(CairnError) as refused:
        link_at(url)
    return str(refused.value)


# --- servers of this user ------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "respond",
    [
        repeats,
        redirects("/ui/link", 307),
        redirects("http://127.0.0.2:7420/ui/link", 302),
        lambda _: response(LINK, 201),
        lambda _: response(status=401),
        lambda _: [b"HTTP/1.1 100 Continue\r\n\r\n", *response(LINK, 201)],
        lambda _: [b"\xff" * 100_000],
    ],
    ids=["repeats", "redirects", "redirects-away", "gives-a-link", "refuses", "continues", "floods"],
)
def test_program_at_a_port_of_this_machine_gets_no_token(
    tokens: tuple[str, str], host: str, respond: Respond
) -> None:
    with impostor(respond) as other:
        assert "127.0.0.1" in refusal(f"http://{host}:{other.port}/ui/?q=a") or host in ("127.1", "0")
    assert "authorization" not in other.text.lower()
    assert not any(token in other.text for token in tokens)


@pytest.mark.usefixtures("same_user")
def test_program_that_passes_messages_on_to_the_server_gets_no_proof(served: Served) -> None:
    with impostor(relays_to(served.port)) as other:
        assert "does not prove" in refusal(f"http://127.0.0.1:{other.port}")
    assert b"POST /ui/identity" in other.received[0]
    assert "uthorization" not in other.text
    assert served.token not in other.text


def test_program_that_answers_byte_by_byte_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_TIMEOUT_SECONDS", 0.3)
    with impostor(trickles) as other:
        assert "does not answer" in refusal(f"http://127.0.0.1:{other.port}")


def test_localhost_does_not_lead_to_the_other_address_of_loopback() -> None:
    with impostor(lambda _: response(LINK, 201), host="::1") as other:
        for host in ("localhost", "LocalHost.", "cairn.localhost"):
            assert "127.0.0.1" in refusal(f"http://{host}:{other.port}")
            with pytest.raises(TeamUnavailableError):
                TeamServer(f"http://localhost:{other.port}", TEAM_TOKEN).locate([])
    assert other.received == []


@pytest.mark.usefixtures("same_user")
@pytest.mark.parametrize("host", [*HOSTS, "[::1]"])
def test_own_server_gives_a_link_without_getting_the_token(served: Served, host: str) -> None:
    link = link_at(f"http://{host}:{served.port}/ui/?q=a")
    assert link.startswith(
        f"http://{'[::1]' if host == '[::1]' else '127.0.0.1'}:{served.port}/ui/sign-in?code="
    )
    assert is_unused(link)
    assert enters(link)
    assert is_unused(link) is False


def test_server_with_another_token_is_not_ones_own(served: Served, tokens: tuple[str, str]) -> None:
    assert "does not prove" in refusal(f"http://127.0.0.1:{served.port}")


# --- a team's servers ----------------------------------------------------------------------------------


@pytest.fixture
def tls(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The TLS of a server `localhost` that this process trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(TRUSTED))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(TRUSTED)
    return context


def test_team_server_gets_its_token_over_tls(tls: ssl.SSLContext) -> None:
    with impostor(lambda _: response(LINK, 201), tls=tls) as team:
        assert link_at(f"https://localhost:{team.port}") == f"https://localhost:{team.port}{LINK}"
    assert f"Authorization: Bearer {TEAM_TOKEN}" in team.text


@pytest.mark.parametrize("status", REDIRECTS)
def test_token_does_not_follow_a_redirect(tls: ssl.SSLContext, status: int) -> None:
    with (
        impostor(lambda _: response(LINK, 201)) as plain,
        impostor(lambda _: response(LINK, 201), tls=tls) as other,
    ):
        for place in (f"http://127.0.0.1:{plain.port}", f"https://localhost:{other.port}"):
            with impostor(redirects(f"{place}/ui/link", status), tls=tls) as team:
                assert f"({status})" in refusal(f"https://localhost:{team.port}")
            with impostor(redirects(f"{place}/team/v1/locate", status)) as http_team:
                server = TeamServer(f"http://127.0.0.1:{http_team.port}", TEAM_TOKEN)
                with pytest.raises(TeamUnavailableError, match=str(status)):
                    server.locate([])
        assert plain.received == other.received == []


@pytest.mark.parametrize(
    "text", ["@evil.example/", ".evil.example/ui/sign-in?code=a", f"{LINK}\n", "", "/ui/", f"//{LINK}"]
)
def test_link_of_a_team_server_leads_to_no_other_server(tls: ssl.SSLContext, text: str) -> None:
    with impostor(lambda _: response(text, 201), tls=tls) as team:
        assert "gives no link" in refusal(f"https://localhost:{team.port}")


def test_token_is_for_the_server_of_the_settings(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_TEAM__URL", "https://cairn.example.org/prefix")
    with impostor(lambda _: response(LINK, 201), tls=tls) as other:
        assert "https://cairn.example.org, the server of team.url" in refusal(
            f"https://localhost:{other.port}"
        )
        assert other.received == []
        monkeypatch.setenv("CAIRN_TEAM__URL", f"HTTPS://LOCALHOST:{other.port}/")
        assert link_at(f"https://localhost:{other.port}/ui/")


def test_team_server_on_this_machine_needs_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    with impostor(lambda request: response(LINK, 201) if b"Bearer" in request else response()) as team:
        url = f"http://127.0.0.1:{team.port}"
        assert "in team.url" in refusal(url)
        assert TEAM_TOKEN not in team.text
        monkeypatch.setenv("CAIRN_TEAM__URL", f"http://localhost:{team.port}")
        assert link_at(url) == url + LINK


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:7420@evil.example",
        "https://user:password@cairn.example.org",
        "http://①②⑦.0.0.1:7420",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "https:///ui/",
    ],
)
def test_doubtful_url_is_refused(url: str) -> None:
    assert "is not the URL of a server" in refusal(url)


# --- records -------------------------------------------------------------------------------------------


def test_record_is_private_and_names_a_process_of_this_user(tmp_path: Path) -> None:
    with page_records("http://127.0.0.1:1", [tmp_path]):
        record = workspace_dir(tmp_path) / "page.json"
        assert sys.platform == "win32" or record.stat().st_mode & 0o777 == 0o600
        assert recorded_url(tmp_path) == "http://127.0.0.1:1"
    assert recorded_url(tmp_path) == ""


@root_only
def test_record_of_another_user_is_ignored(tmp_path: Path) -> None:
    record = workspace_dir(tmp_path) / "page.json"
    with page_records("http://127.0.0.1:1", [tmp_path]):
        os.chown(record, 65_534, -1)
        assert recorded_url(tmp_path) == ""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, user=65_534) as other:
        began = psutil.Process(other.pid).create_time()
        write_private(
            record, f'{{"url": "http://127.0.0.1:1", "processId": {other.pid}, "began": {began!r}}}'
        )
        assert recorded_url(tmp_path) == ""
        other.kill()


@pytest.mark.parametrize("content", ["", "[]", '{"processId": -1}', '{"processId": true}', "[" * 1_000])
def test_malformed_record_is_ignored(tmp_path: Path, content: str) -> None:
    write_private(workspace_dir(tmp_path) / "page.json", content)
    assert recorded_url(tmp_path) == ""
