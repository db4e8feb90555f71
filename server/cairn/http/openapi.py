"""The OpenAPI 3.1 description of the HTTP front, made from the one table of methods and the classes that it
names."""

from __future__ import annotations

from typing import Any

from cairn import __version__
from cairn.engine.methods import STAGES, Method
from cairn.http.app import API, ROUTES, is_plain_question
from cairn.http.errors import CODES
from cairn.schema import strict_json
from cairn.schema.json_schema import COMPONENTS, reference_to
from cairn.settings.tree import ServeSettings

_JSON = "application/json"
_ERROR = {"$ref": f"{COMPONENTS}Error"}
_BODY_STATUSES = frozenset({408, 413, 415})
"""Only of requests with a body."""
_TEXT_STATUSES = frozenset({400, 504})
"""Only of requests that are put to an engine."""
_ABOUT = """Ranked passages, cited evidence and prompts from the local index of the workspace folders.

Every method takes its params as a JSON object and answers as over LSP, where its name is `cairn/` and the same in
camelCase. Lines are LSP ranges: 0-based, the end exclusive."""


def description(url: str = "") -> bytes:
    """The document in JSON, for a server at `url`; by default, at the address of the defaults."""
    defaults = ServeSettings()
    return strict_json.dumps(document(url or f"http://{defaults.host}:{defaults.port}"))


def document(url: str) -> dict[str, Any]:
    """As `description`, as data."""
    schemas: dict[str, Any] = {"Error": _error_schema()}
    paths: dict[str, Any] = {
        f"{API}{route}": _methods(route, method, schemas) for route, method in ROUTES.items()
    }
    paths |= {
        "/metrics": {"get": _other("metrics", "Counts and times in Prometheus' text format", "text/plain")},
        "/openapi.json": {"get": _other("openapi", "This description", _JSON)},
        "/healthz": {"get": _health("healthz", "Whether the server answers", {"ok": {"const": True}})},
        "/readyz": {
            "get": _health("readyz", "Whether every folder can be searched", {"ready": {"type": "boolean"}})
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Cairn", "version": __version__, "description": _ABOUT, "license": {"name": "MIT"}},
        "servers": [{"url": url}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The text in the file `serve-token` of Cairn's data folder; `cairn serve` says where that is.",
                }
            },
            "parameters": {
                "workspace": {
                    "name": "workspace",
                    "in": "query",
                    "description": "Ask one of the open folders alone: its URI, its path, or its name where only one is called so.",
                    "schema": {"type": "string"},
                }
            },
        },
    }


def _methods(route: str, method: Method, schemas: dict[str, Any]) -> dict[str, Any]:
    answer = _answer_schema(method, schemas)
    common = {
        "summary": f"{method.summary}.",
        "tags": [
            "stages of discovery" if method.name in STAGES else "changes" if method.changes else "questions"
        ],
        "parameters": [{"$ref": "#/components/parameters/workspace"}],
    }
    params = reference_to(method.params_class(), definitions=schemas, prefix=COMPONENTS)
    takes_none = method.params == "NoParams"
    body = {"required": not takes_none, "content": {_JSON: {"schema": params}}}
    answered: dict[str, Any] = {"200": {"description": "The answer.", "content": {_JSON: {"schema": answer}}}}
    described: dict[str, Any] = {
        "post": {
            "operationId": route,
            **common,
            "requestBody": body,
            "responses": {**answered, **_errors(without=frozenset())},
        }
    }
    if is_plain_question(method):
        errors = _errors(without=_BODY_STATUSES)
        described["get"] = {"operationId": f"get_{route}", **common, "responses": {**answered, **errors}}
    return described


def _answer_schema(method: Method, schemas: dict[str, Any]) -> dict[str, Any]:
    one = reference_to(method.answer_class(), definitions=schemas, whole=True, prefix=COMPONENTS)
    return {"type": "array", "items": one} if method.answers_list else one


def _other(name: str, summary: str, media_type: str) -> dict[str, Any]:
    shape = {"type": "object"} if media_type == _JSON else {"type": "string"}
    return {
        "operationId": name,
        "summary": f"{summary}.",
        "tags": ["operation"],
        "responses": {
            "200": {"description": f"{summary}.", "content": {media_type: {"schema": shape}}},
            **_errors(without=_BODY_STATUSES | _TEXT_STATUSES | {503}),
        },
    }


def _health(name: str, summary: str, properties: dict[str, Any]) -> dict[str, Any]:
    shape = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    content = {_JSON: {"schema": shape}}
    responses = {"200": {"description": f"{summary}: yes.", "content": content}}
    if name == "readyz":
        responses["503"] = {"description": f"{summary}: not yet.", "content": content}
    errors = _errors(without=_BODY_STATUSES | _TEXT_STATUSES | {401, 503})
    return {
        "operationId": name,
        "summary": f"{summary}.",
        "tags": ["operation"],
        "security": [],
        "responses": {**responses, **errors},
    }


def _errors(without: frozenset[int]) -> dict[str, Any]:
    """The refusals, by status; each says with which codes it comes, and what they mean."""
    meanings: dict[int, list[str]] = {}
    for code, (status, meaning) in CODES.items():
        if status not in without and status != 404:
            meanings.setdefault(status, []).append(f"`{code}`: {meaning}.")
    return {
        str(status): {
            "description": " ".join(texts),
            "content": {_JSON: {"schema": _ERROR}},
            **({"headers": _headers(status)} if _headers(status) else {}),
        }
        for status, texts in sorted(meanings.items())
    }


def _headers(status: int) -> dict[str, Any]:
    names = {401: ("WWW-Authenticate", "string"), 405: ("Allow", "string"), 503: ("Retry-After", "integer")}
    if status not in names:
        return {}
    name, kind = names[status]
    return {name: {"schema": {"type": kind}}}


def _error_schema() -> dict[str, Any]:
    properties = {
        "code": {"type": "string", "enum": list(CODES)},
        "message": {"type": "string", "description": "What is wrong, and what to do about it."},
        "field": {
            "type": "string",
            "description": 'The dotted path in the params that is to blame, or the query parameter; "" for none.',
        },
    }
    error = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"error": error},
        "required": ["error"],
        "additionalProperties": False,
    }
