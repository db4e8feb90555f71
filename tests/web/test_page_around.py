"""A page whose beginning is sent before its results."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from cairn.settings.tree import ServeSettings
from cairn.web.query_string import Question
from cairn.web.rendering import PageRequest, Served, page_around

pytestmark = pytest.mark.asyncio
TEXT = "<b>late</b>"


def request(encoding: str) -> PageRequest:
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/ui/",
        "query_string": b"q=ship",
        "headers": [(b"host", b"localhost"), (b"accept-encoding", encoding.encode())],
    }
    served = Served(None, ServeSettings(), has_several=lambda: False)  # type: ignore[arg-type]
    return PageRequest(Request(scope), served)


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_beginning_is_sent_before_late_content(encoding: str) -> None:
    late: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    question = Question("ship", typed="ship")
    response = page_around(request(encoding), "search.html", late, question=question, chosen=[])
    assert isinstance(response, StreamingResponse)
    decompressor = zlib.decompressobj(wbits=31)

    def read(piece: Any) -> str:
        return (decompressor.decompress(piece) if encoding == "gzip" else bytes(piece)).decode()

    pieces = aiter(response.body_iterator)
    before = read(await anext(pieces))
    assert before.endswith('<div id="results" class="results" aria-live="off">\n')
    assert 'value="ship"' in before
    late.set_result(TEXT)
    after = read(await anext(pieces))
    assert after.startswith(TEXT)
    assert after.endswith("</html>")
    assert [piece async for piece in pieces] == []
