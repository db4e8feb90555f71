"""Functions that frameworks call are found by marks, by tables of routes and by conventions, with their
routes; and requests of clients fit the pattern of a route."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import frozen
from tests.index.references.workspaces import Open

from cairn.index.references.entry_points import EntryPoints
from cairn.index.references.frameworks import EntryKind, conventional, handed_to, marked, routed
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.requests import PART, WHOLE, fit, requests, segments


@frozen
class Service:
    """A service in which one function answers a route, and a client that requests it."""

    symbol: str
    route: str
    files: Mapping[str, str]


SERVICES = {
    "Flask: a blueprint with a prefix": Service(
        "show",
        "GET /berths/<int:number>",
        {
            "views.py": "from flask import Blueprint\n\n"
            "berths = Blueprint('berths', __name__, url_prefix='/berths')\n\n\n"
            "@berths.route('/<int:number>')\ndef show(number):\n    return str(number)\n",
            "client.js": "export const load = (n) => fetch(`/berths/${n}`)\n",
        },
    ),
    "Django: a table of paths": Service(
        "show_berth",
        "berths/<int:number>/",
        {
            "port/views.py": "def show_berth(request, number):\n    return number\n",
            "port/urls.py": "from django.urls import path\nfrom port import views\n\nurlpatterns = [\n"
            "    path('berths/<int:number>/', views.show_berth, name='berth'),\n]\n",
            "client.ts": "export const load = (n: number) => fetch(`/berths/${n}/`)\n",
        },
    ),
    "Express: a router": Service(
        "showBerth",
        "GET /berths/:number",
        {
            "berths.js": "export function showBerth(req, res) {\n  res.json(req.params.number)\n}\n",
            "routes.js": "import { Router } from 'express'\nimport { showBerth } from './berths.js'\n\n"
            "const router = Router()\nrouter.get('/berths/:number', showBerth)\nexport default router\n",
            "client.py": "import requests\n\n\ndef load(n):\n    return requests.get(f'/berths/{n}')\n",
        },
    ),
    "Gin: a group": Service(
        "showBerth",
        "GET /v1/berths/:number",
        {
            "go.mod": "module port\n",
            "main.go": 'package main\n\nfunc main() {\n\tr := gin.Default()\n\tv1 := r.Group("/v1")\n'
            '\tv1.GET("/berths/:number", showBerth)\n}\n',
            "berths.go": "package main\n\nfunc showBerth(c *gin.Context) {\n\tc.JSON(200, nil)\n}\n",
            "client.ts": "export const load = (n: number) => axios.get(`/v1/berths/${n}`)\n",
        },
    ),
    "Laravel: a controller in a table": Service(
        "BerthController.show",
        "GET /berths/{number}",
        {
            "app/BerthController.php": "<?php\n\nclass BerthController\n{\n"
            "    public function show($number)\n    {\n        return $number;\n    }\n}\n",
            "routes/web.php": "<?php\n\nRoute::get('/berths/{number}', [BerthController::class, 'show']);\n",
            "client.js": "export const load = (n) => fetch(`/berths/${n}`)\n",
        },
    ),
    "ASP.NET: a controller with a prefix": Service(
        "BerthsController.Show",
        "GET /api/berths/{number}",
        {
            "BerthsController.cs": '[Route("api/[controller]")]\npublic class BerthsController {\n'
            '    [HttpGet("{number}")]\n    public int Show(int number) { return number; }\n}\n',
            "client.cs": "public class Client {\n    public void Load(int n) {\n"
            '        http.GetAsync($"/api/berths/{n}");\n    }\n}\n',
        },
    ),
    "Phoenix: a scope": Service(
        "show",
        "GET /api/berths/:number",
        {
            "lib/port_web/berth_controller.ex": "defmodule PortWeb.BerthController do\n"
            "  def show(conn, %{\"number\" => number}) do\n    json(conn, number)\n  end\nend\n",
            "lib/port_web/router.ex": 'defmodule PortWeb.Router do\n  scope "/api", PortWeb do\n'
            '    get "/berths/:number", BerthController, :show\n  end\nend\n',
            "assets/client.js": "export const load = (n) => fetch(`/api/berths/${n}`)\n",
        },
    ),
    "NestJS: a controller with a prefix": Service(
        "BerthsController.show",
        "GET /berths/:number",
        {
            "berths.controller.ts": "@Controller('berths')\nexport class BerthsController {\n"
            "  @Get(':number')\n"
            "  show(@Param('number') number: string) {\n    return number\n  }\n}\n",
            "client.ts": "export const load = (n: number) => fetch(`/berths/${n}`)\n",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_a_route_and_its_client_are_found(opened: Open, service: Service) -> None:
    folder = opened(service.files)
    graph = ReferenceGraph(folder.reader)
    place = graph.named(service.symbol)[0]
    points = EntryPoints(folder.reader).of(place, graph.callers([place], 100).found)
    route = next(point.entry for point in points if point.entry.kind is EntryKind.ROUTE)
    assert f"{route.method} {route.path}".strip() == service.route
    assert [each.text for each in requests(folder.reader, route)]


@pytest.mark.parametrize(
    ("mark", "kind"),
    [
        ('@register("ferry")', EntryKind.REGISTERED),
        ("@app.task(bind=True)", EntryKind.TASK),
        ('@Scheduled(cron = "0 0 * * *")', EntryKind.TASK),
        ("@receiver(post_save, sender=Ship)", EntryKind.LISTENER),
        ("@click.command()", EntryKind.COMMAND),
        ("[Fact]", EntryKind.TEST),
        ("#[tokio::test]", EntryKind.TEST),
        ("@property", None),
        ("#[inline]", None),
        ("@Override", None),
        ("@functools.lru_cache(maxsize=None)", None),
    ],
)
def test_a_mark_says_what_calls_the_function(mark: str, kind: EntryKind | None) -> None:
    entry = marked(mark)
    assert (None if entry is None else entry.kind) is kind


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ('emitter.on("docked", moor', EntryKind.LISTENER),
        ("before_action :moor", EntryKind.LISTENER),
        ("setInterval(moor", EntryKind.TASK),
        ("program.command('moor').action(moor", EntryKind.COMMAND),
        ("return moor", None),
        ("const other = moor", None),
    ],
)
def test_what_a_function_is_handed_to_says_what_calls_it(statement: str, kind: EntryKind | None) -> None:
    assert handed_to(statement) is kind


def test_requests_and_lookups_are_no_routes() -> None:
    assert routed("const { data } = await axios.get(`/berths/${n}`)") is None
    assert routed("const view = app.get('view')") is None
    assert routed('value = cache.get("key")') is None


def test_the_method_of_a_route_is_that_of_its_handler() -> None:
    statement = '.route("/berths", get(list_berths).post(add_berth'
    assert getattr(routed(statement, "add_berth"), "method", "") == "POST"


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        ("src/routes/berths/[number]/+server.ts", "GET", EntryKind.ROUTE),
        ("port/management/commands/moor.py", "handle", EntryKind.COMMAND),
        ("berths_test.go", "TestMoor", EntryKind.TEST),
        ("src/panel.component.ts", "ngOnInit", EntryKind.LIFECYCLE),
        ("src/harbour.py", "moor_ship", None),
    ],
)
def test_names_and_files_that_frameworks_know(path: str, name: str, kind: EntryKind | None) -> None:
    entry = conventional(path, name)
    assert (None if entry is None else entry.kind) is kind


def test_a_route_by_its_file_has_the_path_of_the_file() -> None:
    assert (
        getattr(conventional("src/routes/berths/[number]/+server.ts", "GET"), "path", "")
        == "/berths/[number]"
    )


@pytest.mark.parametrize(
    ("path", "pattern", "confidence"),
    [
        ("/berths/${number}", "/berths/:number", WHOLE),
        ("http://localhost:8000/berths/7?deep=1", "/berths/{number}", WHOLE),
        ("https://port.example/berths/7", "/berths/{number}", PART),
        ("${base}/berths/7", "/berths/<int:number>", WHOLE),
        ("/api/v1/berths/7", "/berths/{number}", PART),
        ("/berths/7/ships", "/berths/{number}", 0.0),
        ("/ships/7", "/berths/{number}", 0.0),
        ("berths", "/berths", 0.0),
        ("the berths / piers", "/berths", 0.0),
    ],
)
def test_how_surely_a_path_means_a_route(path: str, pattern: str, confidence: float) -> None:
    assert fit(path, segments(pattern)) == confidence
