"""The OpenAPI 3.1 description of the HTTP front, generated from the table of methods and their classes."""

from __future__ import annotations

from typing import Any

from cairn import __version__
from cairn.engine.methods import STAGES, Method
from cairn.http.admission import DESCRIPTION
from cairn.http.asgi import API, ROUTES, allows_get
from cairn.http.events import ANSWER, ERROR, MEDIA_TYPE
from cairn.http.refusals import CODES
from cairn.protocol import DiscoverProgress
from cairn.schema import strict_json
from cairn.schema.json_schema import COMPONENTS, Describer
from cairn.settings.tree import ServeSettings

_JSON = "application/json"
_ERROR = {"$ref": f"{COMPONENTS}Error"}
_BODY_STATUSES = frozenset({408, 413, 415})
"""The error statuses that only requests with a body can have."""
_ENGINE_STATUSES = frozenset({400, 504})
"""The error statuses that only requests to an engine can have."""
_HEADERS = {401: ("WWW-Authenticate", "string"), 405: ("Allow", "string"), 503: ("Retry-After", "integer")}
_ABOUT = """Ranked passages, cited evidence and prompts from the local index of the workspace folders.

Every method takes its params as a JSON object and answers as over LSP, where its name is `cairn/` and
the same in camelCase. Lines are LSP ranges: 0-based, the end exclusive."""

_EVENTS = f"""Server-sent events, for requests with `Accept: {MEDIA_TYPE}`. Each stage of discovery that has \
ended sends an event with its name, such as `broad_discovery`, and a `DiscoverProgress` as data, without the \
parts of the answer that the stage did not change. The last event is `{ANSWER}` with the whole answer as \
data, or `{ERROR}` with an `Error`. An answer from the cache has no stages. Lines that begin with a colon \
only keep the connection open."""


def description(url: str = "") -> bytes:
    """Return the document in JSON, for a server at `url`, by default at the default address."""
    defaults = ServeSettings()
    schemas: dict[str, Any] = {"Error": _error_schema()}
    paths: dict[str, Any] = {
        f"{API}{route}": _methods(route, method, schemas) for route, method in ROUTES.items()
    }
    counts, this = "Counts and times in Prometheus' text format", "This description"
    alive, ready = "Whether the server answers", "Whether every folder can be searched"
    is_alive = {"200": _response(f"{alive}: yes.", _object({"ok": {"const": True}}))}
    can_search = _object({"ready": {"type": "boolean"}})
    is_ready = {status: _response(f"{ready}.", can_search) for status in ("200", "503")}
    metrics = {"200": _response(f"{counts}.", {"type": "string"}, "text/plain")}
    paths |= {
        "/metrics": _get("metrics", counts, metrics),
        DESCRIPTION: _get("openapi", this, {"200": _response(f"{this}.", {"type": "object"})}, security=[]),
        "/healthz": _get("healthz", alive, is_alive, security=[]),
        "/readyz": _get("readyz", ready, is_ready, security=[]),
    }
    described = {
        "openapi": "3.1.0",
        "info": {"title": "Cairn", "version": __version__, "description": _ABOUT, "license": {"name": "MIT"}},
        "servers": [{"url": url or f"http://{defaults.host}:{defaults.port}"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The text of the file whose path `cairn serve` prints.",
                }
            },
            "parameters": {
                "workspace": {
                    "name": "workspace",
                    "in": "query",
                    "description": "One open folder: its URI, its path, or its name if that is unique.",
                    "schema": {"type": "string"},
                }
            },
        },
    }
    return strict_json.dumps(described)


def _methods(route: str, method: Method, schemas: dict[str, Any]) -> dict[str, Any]:
    answer = Describer(schemas, whole=True, prefix=COMPONENTS).type(method.answer_type())
    params = Describer(schemas, prefix=COMPONENTS).type(method.params_class())
    tag = "stages of discovery" if method.name in STAGES else "changes" if method.changes else "questions"
    workspace = {"$ref": "#/components/parameters/workspace"}
    common = {"summary": f"{method.summary}.", "tags": [tag], "parameters": [workspace]}
    answered = {"200": _response("The answer.", answer)}
    if method.streams:
        Describer(schemas, prefix=COMPONENTS).type(DiscoverProgress)
        answered["200"]["content"][MEDIA_TYPE] = {"schema": {"type": "string", "description": _EVENTS}}
    body = {"required": method.params != "NoParams", "content": {_JSON: {"schema": params}}}
    responses: dict[str, Any] = {**answered, **_errors()}
    post = {"operationId": route, **common, "requestBody": body, "responses": responses}
    described: dict[str, Any] = {"post": post}
    if allows_get(method):
        responses = {**answered, **_errors(without=_BODY_STATUSES)}
        described["get"] = {"operationId": f"get_{route}", **common, "responses": responses}
    return described


def _get(name: str, summary: str, responses: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Describe an address that needs no engine. `more` contains `security` if it also needs no token."""
    without = _BODY_STATUSES | _ENGINE_STATUSES | {503, *([401] if more else [])}
    operation = {
        "operationId": name,
        "summary": f"{summary}.",
        "tags": ["operation"],
        "responses": {**responses, **_errors(without)},
    }
    return {"get": {**operation, **more}}


def _response(text: str, shape: dict[str, Any], media_type: str = _JSON) -> dict[str, Any]:
    return {"description": text, "content": {media_type: {"schema": shape}}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _errors(without: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Describe the error responses by status, with the meanings of their codes."""
    meanings: dict[int, list[str]] = {}
    for code, (status, meaning) in CODES.items():
        if status not in without and status != 404:
            meanings.setdefault(status, []).append(f"`{code}`: {meaning}.")
    described = {}
    for status, texts in sorted(meanings.items()):
        response = described[str(status)] = _response(" ".join(texts), _ERROR)
        if status in _HEADERS:
            name, kind = _HEADERS[status]
            response["headers"] = {name: {"schema": {"type": kind}}}
    return described


def _error_schema() -> dict[str, Any]:
    error = {
        "code": {"type": "string", "enum": list(CODES)},
        "message": {"type": "string", "description": "What is wrong, and what to do about it."},
        "field": {
            "type": "string",
            "description": 'The dotted path of the wrong param, or the wrong query parameter; "" for none.',
        },
    }
    return _object({"error": _object(error)})
