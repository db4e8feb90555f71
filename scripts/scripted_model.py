"""A stand-in for the APIs of language models, on loopback: it calls Cairn's search tool once, then ends.

It implements the parts of four APIs that agents' clients need: Anthropic's messages, OpenAI's responses and
chat completions, and Gemini's generateContent. It stores every request, so that tests can check the tools
that a client offered and the tool's result that it sent back.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTION = "where is a ship moored"
"""The query for the tool."""
FINISHED = "The scripted model has finished."
"""The model's answer once it has the tool's result."""
_ASIDE = "Harbour"
"""The answer to requests without tools: clients ask for titles and summaries."""
_CALL = "call_of_cairn"
_DEFERRED = re.compile(r"mcp__cairn__\w*search\b")
"""Claude Code's form of the name of a tool whose description the model has to request first."""


@dataclass(frozen=True)
class _Call:
    tool: tuple[str, str]
    """The namespace of a tool ("" for none) and its name."""
    arguments: dict[str, Any]
    id: str = _CALL


class ScriptedModel:
    """Stores the requests to the model, and answers them."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        """Each request's path and body."""
        self.tools: list[str] = []
        """The names of the tools of the first request that had Cairn's, as the model saw them."""
        self.deferred = False
        """Whether the model had to request the tool by its name first."""
        self.results: list[str] = []
        """The text that the client sent back for each call."""
        self.url = ""
        self._lock = threading.Lock()

    def events(self, path: str, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Return the answer as the API's stream of events: each event's name ("" for none) and its data."""
        with self._lock:
            self.requests.append((path, body))
            tools = _tools(body)
            tool = next(
                (each for each in tools if "cairn" in each[0] + each[1] and each[1].endswith("search")), None
            )
            if tool is not None and not self.tools:
                self.tools = [".".join(filter(None, each)) for each in tools]
            result = _result(body)
            if result is not None:
                self.results.append(result)
        api = _API[_api_of(path)]
        if result is not None:
            return api(FINISHED, None)
        if tool is not None:
            return api(None, _Call(tool, {"query": QUESTION}))
        deferred = _DEFERRED.search(json.dumps(body))
        if deferred is not None and ("", "ToolSearch") in tools:
            self.deferred = True
            return api(None, _Call(("", "ToolSearch"), {"query": f"select:{deferred[0]}"}, "call_of_tool"))
        return api(_ASIDE, None)


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """Serve a model on a free port until the end of the block."""
    model = ScriptedModel()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, "application/json", b'{"data": [], "models": []}')

        def do_HEAD(self) -> None:
            self._answer(200, "application/json", b"")

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(length)
            path = self.path.partition("?")[0]
            if _api_of(path) == "":
                model.requests.append((path, {}))
                self._answer(200, "application/json", b'{"input_tokens": 1, "totalTokens": 1}')
                return
            events = model.events(path, json.loads(data))
            stream = "".join(
                (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
                for name, data in events
            )
            if _api_of(path) == "chat":
                stream += "data: [DONE]\n\n"
            if path.endswith(":generateContent"):
                self._answer(200, "application/json", json.dumps(events[-1][1]).encode())
                return
            self._answer(200, "text/event-stream", stream.encode())

        def _answer(self, code: int, kind: str, data: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Log nothing; tests print errors themselves."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _api_of(path: str) -> str:
    """Return the API of a request; "" if it wants no answer."""
    ends = {
        "/messages": "messages",
        "/responses": "responses",
        "/chat/completions": "chat",
        ":streamGenerateContent": "gemini",
        ":generateContent": "gemini",
    }
    return next((api for end, api in ends.items() if path.endswith(end)), "")


def _tools(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the tools of a request: each one's namespace ("" for none) and its name."""
    found = []
    for tool in body.get("tools") or []:
        if "functionDeclarations" in tool:
            found += [("", each["name"]) for each in tool["functionDeclarations"]]
        elif tool.get("type") == "namespace":
            found += [(tool["name"], each.get("name", "")) for each in tool.get("tools", [])]
        else:
            found.append(
                ("", tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", ""))
            )
    return found


def _result(body: dict[str, Any]) -> str | None:
    """Return the result of the call in the request, as text; None before there is one."""
    for message in [*body.get("messages", []), *body.get("input", []), *body.get("contents", [])]:
        if not isinstance(message, dict):
            continue
        parts = message.get("content") if "content" in message else message.get("parts")
        for part in [message, *(parts if isinstance(parts, list) else [])]:
            if part.get("type") == "function_call":
                continue
            # Gemini's calls have no id.
            if _CALL in (part.get("call_id"), part.get("tool_call_id"), part.get("tool_use_id")) or (
                "functionResponse" in part
            ):
                return json.dumps(part, ensure_ascii=False)
    return None


# --- answers of the APIs: a text, or a call of a tool ---------------------------------------------

_Events = list[tuple[str, dict[str, Any]]]


def _messages(text: str | None, call: _Call | None) -> _Events:
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": text}
    if call is not None:
        block = {"type": "tool_use", "id": call.id, "name": call.tool[1], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    reason = "tool_use" if call is not None else "end_turn"
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
        },
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def _responses(text: str | None, call: _Call | None) -> _Events:
    if call is None:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
    else:
        item = {"type": "function_call", "id": "fc_1", "call_id": call.id, "name": call.tool[1]}
        item |= {"arguments": json.dumps(call.arguments)} | (
            {"namespace": call.tool[0]} if call.tool[0] else {}
        )
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": "resp_1", "status": "completed", "output": [item], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [(event["type"], event) for event in events]


def _chat(text: str | None, call: _Call | None) -> _Events:
    delta: dict[str, Any] = {"role": "assistant", "content": text}
    if call is not None:
        function = {"name": call.tool[1], "arguments": json.dumps(call.arguments)}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": call.id, "type": "function", "function": function}],
        }
    chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    reason = "tool_calls" if call is not None else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        ("", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
    ]


def _gemini(text: str | None, call: _Call | None) -> _Events:
    part: dict[str, Any] = {"text": text}
    if call is not None:
        part = {"functionCall": {"name": call.tool[1], "args": call.arguments}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [("", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"})]


_API = {"messages": _messages, "responses": _responses, "chat": _chat, "gemini": _gemini}
