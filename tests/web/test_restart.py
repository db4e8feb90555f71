"""Sessions of the page after the server has started again."""

from __future__ import annotations

from pathlib import Path

from tests.serving import serving
from tests.web.conftest import Browser, signed_in


def test_restart_keeps_sessions_but_not_ended_ones(bare_data_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "quay"
    folder.mkdir()
    with serving(str(folder), "--no-lsp") as before:
        kept, ended = signed_in(before).cookie, signed_in(before)
        former = ended.cookie
        assert ended.ask("/ui/sign-out", method="POST", body="").status == 303
    with serving(str(folder), "--no-lsp", "--port", str(before.port)) as after:
        statuses = [Browser(after, cookie).ask("/ui/index").status for cookie in (kept, former)]
    assert statuses == [200, 401]
    with serving(str(folder), "--no-lsp", "--port", str(before.port), "--new-token") as renewed:
        assert Browser(renewed, kept).ask("/ui/index").status == 401
