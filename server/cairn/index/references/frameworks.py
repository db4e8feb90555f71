"""What calls a function although no code names it: routes, commands, tests, events, schedules.

Frameworks call functions that a decorator, an annotation or an attribute marks, that a table names, or whose
name or file they know. The tables below are by such marks, not by framework: `route`, `command` and `task`
mean the same in many of them.
"""

from __future__ import annotations

import re
from enum import StrEnum

from attrs import frozen


class EntryKind(StrEnum):
    """What calls a function that is an entry point."""

    ROUTE = "route"
    COMMAND = "command"
    TEST = "test"
    LISTENER = "event listener"
    TASK = "scheduled task"
    LIFECYCLE = "lifecycle method"
    REGISTERED = "registered"


@frozen
class Entry:
    """How a function is entered from outside of the code."""

    kind: EntryKind
    method: str = ""
    """The HTTP method of a route in capitals, "" for any."""
    path: str = ""
    """The path pattern of a route, without the prefixes that are written elsewhere."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.lower().split())


_HTTP = _words("get post put patch delete head options trace")
_MARKS: dict[EntryKind, frozenset[str]] = {
    EntryKind.ROUTE: _words(
        """
        route api_route websocket websocket_route requestmapping getmapping postmapping putmapping
        patchmapping deletemapping httpget httppost httpput httppatch httpdelete httphead httpoptions
        acceptverbs api_view path resource
        """
    ),
    EntryKind.COMMAND: _words("command group subcommand shellmethod cli callback"),
    EntryKind.TEST: _words(
        """
        test fact theory testmethod testcase parameterizedtest repeatedtest testfactory rstest fixture
        beforeeach aftereach beforeall afterall before after setup teardown onetimesetup given when then step
        """
    ),
    EntryKind.LISTENER: _words(
        """
        receiver listens_for listener on on_event event eventlistener transactionaleventlistener
        kafkalistener rabbitlistener jmslistener sqslistener streamlistener subscribe subscribemessage
        onevent eventpattern messagepattern hostlistener before_request after_request teardown_request
        teardown_appcontext before_app_request errorhandler app_errorhandler exception_handler
        exceptionhandler middleware ibaction
        """
    ),
    EntryKind.TASK: _words(
        """
        task shared_task periodic_task scheduled_job scheduled cron interval timeout repeat_every
        schedules job actor timertrigger
        """
    ),
    EntryKind.LIFECYCLE: _words("postconstruct predestroy postpersist prepersist initializer"),
}
"""By kind, the last words of the names of decorators, annotations and attributes."""

_HARMLESS = _words(
    """
    property staticmethod classmethod abstractmethod abstractproperty override overload final cached_property
    lru_cache cache wraps contextmanager asynccontextmanager dataclass total_ordering singledispatch
    runtime_checkable deprecated no_type_check setter getter deleter patch login_required require_http_methods
    require_post require_get csrf_exempt permission_required cache_page never_cache skip skipif xfail
    parametrize mark usefixtures nullable nonnull notnull suppresswarnings safevarargs functionalinterface
    transactional visiblefortesting jsonignore jsonproperty data value builder obsolete methodimpl pure
    conditional debuggerstepthrough inline must_use allow cfg cfg_attr derive doc cold track_caller instrument
    expect warn deny forbid target_feature repr non_exhaustive jvmstatic jvmoverloads composable throws
    discardableresult mainactor available inlinable escaping authorize allowanonymous
    validateantiforgerytoken producesresponsetype consumes produces responsebody responsestatus preauthorize
    operation apioperation apiresponse apiresponses secured httpcode useguards tracked input output
    spec since impl typedoc moduledoc param return returns type
    """
)
_MARK = re.compile(r"(?:@|#?\[)\s*(?:\w+:(?!:)\s*)?(?P<name>[\w.:]+)\s*(?P<arguments>\(.*)?", re.DOTALL)
_STRING = re.compile(r"[rbuf$@]{0,2}(?P<quote>[\"'`])(?P<text>.*?)(?P=quote)", re.DOTALL)
_METHOD = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b")
_OF_PATH = re.compile(r"\b(?:path|value|url|template|uri)\s*[=:]\s*(?=[\"'`])")


def marked(mark: str) -> Entry | None:
    """Return what a decorator, annotation or attribute (`@x(…)`, `[X(…)]`, `#[x(…)]`) makes of the function
    below it; None if it only changes or describes the function."""
    match = _MARK.match(mark)
    if match is None:
        return None
    words = re.split(r"[.:]+", match["name"])
    last, arguments = words[-1].lower(), match["arguments"] or ""
    is_verb = last in _HTTP and (bool(_STRING.search(arguments)) or words[-1][:1].isupper())
    if is_verb or last in _MARKS[EntryKind.ROUTE]:
        verb = next((each for each in _HTTP if each in last), "")
        written = _METHOD.search(arguments)
        method = verb.upper() if verb else written[1] if written else ""
        if (
            last in ("route", "path")
            and not method
            and words[0].lower() not in ("route", "path", "httproute")
        ):
            method = "GET"  # Flask and Bottle.
        return Entry(EntryKind.ROUTE, method, path_in(arguments))
    for kind, known in _MARKS.items():
        if last in known:
            return Entry(kind)
    return None if last in _HARMLESS else Entry(EntryKind.REGISTERED)


def path_in(arguments: str) -> str:
    """Return the path among the arguments of a mark, "" if there is none."""
    named = _OF_PATH.search(arguments)
    first = _STRING.search(arguments, named.end() if named else 0)
    return first["text"] if first and not re.fullmatch(r"GET|POST|PUT|PATCH|DELETE", first["text"]) else ""


# --- tables ------------------------------------------------------------------------------------------

_VERBS = "get|post|put|patch|delete|del|head|options|any|all|match"
_PATH = r"\s*[(<\s]\s*(?:\w+\s*[:=]\s*)?[rbuf@]{0,2}[\"'`](?P<path>[^\"'`\n]*)[\"'`]"
_ROUTES = tuple(
    re.compile(pattern)
    for pattern in (
        # Go: `HandleFunc("GET /x", f)`, `Handle("GET", "/x", f)`, `Method("GET", "/x", f)`
        r"\b(?:HandleFunc|Handle|Method|MethodFunc|HandlerFunc)\s*\(\s*[\"`](?P<method>[A-Z]+)(?:\s+|[\"`]\s*,\s*[\"`])(?P<path>[^\"`\n]*)",
        rf"\b(?:HandleFunc|Handle){_PATH}",
        # ASP.NET: `MapGet("/x", F)`
        rf"\bMap(?P<method>Get|Post|Put|Patch|Delete|Methods)?{_PATH}",
        # aiohttp: `add_get("/x", f)`; Flask, FastAPI and Falcon: `add_url_rule("/x", view_func=f)`
        rf"\badd_(?P<method>{_VERBS}){_PATH}",
        rf"\badd_(?:url_rule|api_route|route|api_websocket_route|resource|view){_PATH}",
        # Axum: `.route("/x", get(f))`, Starlette: `Route("/x", f)`
        rf"\b(?:route|Route|WebSocketRoute|resource|nest)\s*\(\s*\"(?P<path>[^\"\n]*)\"\s*,\s*(?:\w+::)*(?:(?P<method>{_VERBS})\()?",
        # Express, Gin, Laravel, Rails, Phoenix, Ktor: `get "/x"`, `.GET("/x", f)`, `Route::get('/x', …)`
        rf"(?i:(?<![\w$])(?P<method>{_VERBS})){_PATH}",
        rf"\b(?:resources?|live|forward|match){_PATH}",
        # Django: `path("x/", f)`, `re_path(r"^x$", f)`
        rf"(?<![\w.])(?:path|re_path|url){_PATH}",
        # hapi, Fastify: `{ method: "GET", path: "/x", handler: f }`
        r"\bmethod:\s*[\"'](?P<method>[A-Z]+)[\"'].{0,80}?\b(?:path|url):\s*[\"'`](?P<path>[^\"'`\n]*)",
        r"\b(?:path|url):\s*[\"'`](?P<path>/[^\"'`\n]*)[\"'`].{0,80}?\b(?:component|handler|element|loader)\b",
    )
)
_HANDED: dict[EntryKind, re.Pattern[str]] = {
    EntryKind.LISTENER: re.compile(
        r"(?:\b(?:on|once|addEventListener|addListener|add_listener|subscribe|listen|connect|attach_event"
        r"|add_event_handler|before_action|after_action|around_action|before_save|after_save|before_create"
        r"|after_create|after_commit|before_validation|validate|rescue_from|observe|set_callback|hook"
        r"|add_action|add_filter|use|add_middleware|register_error_handler|add_exception_handler)\b[\s(]"
        r"|\+=\s*\w)"
    ),
    EntryKind.COMMAND: re.compile(
        r"\b(?:add_command|add_parser|set_defaults|action|Run|RunE|command|registerCommand|add_typer|SetHandler"
        r"|Action)\b\s*[(:=]"
    ),
    EntryKind.TASK: re.compile(
        r"\b(?:setInterval|setTimeout|setImmediate|schedule|add_job|cron|AddFunc|AfterFunc|enqueue|delay"
        r"|apply_async|every|at_exit|call_later|create_task|spawn|go|defer|submit|nextTick"
        r"|queueMicrotask)\b[\s(.]"
    ),
}
"""By kind, code that a function is handed to."""


def routed(statement: str, name: str = "") -> Entry | None:
    """Return the route that a statement defines, as in a table of routes; None if it defines none.

    If the statement has several handlers, as `get(list).post(create)`, the method is that of `name`.
    """
    own = name and re.search(rf"\b({_VERBS})\s*\(\s*(?:\w+(?:::|\.))*{re.escape(name)}\b", statement)
    for pattern in _ROUTES:
        if match := pattern.search(statement):
            path, method = match["path"], match.groupdict().get("method") or ""
            if " " in path or (path and not _LIKE_A_PATH.match(path)):
                continue
            is_method = statement[: match.start()].endswith((".", "->"))
            if (is_method and path[:1] not in ("", "/", "*", ":", "{")) or _CLIENT.search(
                statement[: match.start()]
            ):
                continue
            method = own[1] if own else method
            method = "" if method.lower() in ("any", "all", "match", "methods") else method.upper()
            methods = _METHOD.search(statement, match.end())
            return Entry(EntryKind.ROUTE, method or (methods[1] if methods else ""), path)
    return None


_CLIENT = re.compile(
    r"(?:\b(?:axios|requests?|httpx|https?|fetch|ky|got|superagent|session|api|conn)|\$http|[cC]lient|Api|API"
    r"|[hH]ttp|\$this)\b(?:\([^()]*\))?\s*(?:\.|->|\?\.)\s*\Z"
)
"""Code before a verb that sends requests, and so defines no route: `axios.`, `this.http.`, `request(app).`"""
_LIKE_A_PATH = re.compile(r"[/^:{<*]|[\w-]+(?:[/{<:].*)?/?\Z")


def handed_to(statement: str) -> EntryKind | None:
    """Return what calls a function that the statement hands over; None if the statement does not tell."""
    return next((kind for kind, pattern in _HANDED.items() if pattern.search(statement)), None)


# --- conventions -------------------------------------------------------------------------------------


@frozen
class _Convention:
    """Functions that a framework knows by their names and files."""

    kind: EntryKind
    names: re.Pattern[str]
    paths: re.Pattern[str]


_SCRIPTS = r"\.(?:[cm]?[jt]sx?|vue|svelte)\Z"
_CONVENTIONS = tuple(
    _Convention(kind, re.compile(names), re.compile(paths))
    for kind, names, paths in (
        (EntryKind.TEST, r"test_\w*|setUp|tearDown|setUpClass|tearDownClass|setup_method", r"\.py\Z"),
        (EntryKind.TEST, r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])\w*", r"_test\.go\Z"),
        (EntryKind.TEST, r"test(?![a-z])\w*|setUp|tearDown", r"(?i:test\w*\.(?:php|rb|swift|java|kt|m))\Z"),
        (EntryKind.COMMAND, r"handle|add_arguments", r"management/commands/\w+\.py\Z"),
        (EntryKind.COMMAND, r"main|_main|wmain|WinMain", ""),
        (EntryKind.LIFECYCLE, r"upgrade|downgrade|forwards?|backwards?", r"(?:versions|migrations)/.*\.py\Z"),
        (EntryKind.LIFECYCLE, r"init", r"\.go\Z"),
        (EntryKind.LIFECYCLE, r"__\w+__", r"\.pyi?\Z"),
        (EntryKind.LIFECYCLE, r"initialize|method_missing|respond_to_missing\?|included", r"\.rb\Z"),
        (EntryKind.LIFECYCLE, r"__(?:construct|destruct|get|set|call|toString|invoke)", r"\.php\Z"),
        (
            EntryKind.LIFECYCLE,
            r"ng(?:On|After|Do)\w+|component(?:Did|Will)\w+|shouldComponentUpdate|getDerivedStateFrom\w+"
            r"|getSnapshotBeforeUpdate|connectedCallback|disconnectedCallback|attributeChangedCallback"
            r"|onModule(?:Init|Destroy)|onApplication(?:Bootstrap|Shutdown)|canActivate|getStaticProps"
            r"|getServerSideProps|getStaticPaths|generateMetadata|generateStaticParams",
            _SCRIPTS,
        ),
        (
            EntryKind.LIFECYCLE,
            r"setup|data|beforeCreate|created|beforeMount|mounted|beforeUpdate|updated|beforeUnmount"
            r"|unmounted|beforeDestroy|destroyed|beforeRoute(?:Enter|Update|Leave)",
            r"\.vue\Z",
        ),
        (EntryKind.ROUTE, r"GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS", r"(?:\+server|/route)\.[jt]sx?\Z"),
        (EntryKind.LIFECYCLE, r"load|actions|entries", r"\+(?:page|layout)(?:\.server)?\.[jt]s\Z"),
        (EntryKind.LIFECYCLE, r"handle|handleError|handleFetch|init|reroute", r"hooks(?:\.\w+)?\.[jt]s\Z"),
        (EntryKind.LIFECYCLE, r"loader|action|meta|links|headers", r"/routes/.*\.[jt]sx\Z"),
        (EntryKind.ROUTE, r"On(?:Get|Post|Put|Delete|Patch)\w*", r"\.cs(?:html)?\Z"),
        (
            EntryKind.LIFECYCLE,
            r"On(?:Initialized|ParametersSet|AfterRender)(?:Async)?|ConfigureServices|Configure"
            r"|ExecuteAsync|StartAsync|StopAsync|Dispose(?:Async)?|InvokeAsync|OnModelCreating|Up|Down",
            r"\.(?:cs|razor|cshtml)\Z",
        ),
        (
            EntryKind.LIFECYCLE,
            r"on(?:Create|Start|Resume|Pause|Stop|Destroy|Bind|Receive|CreateView|ViewCreated|Attach|Detach"
            r"|SaveInstanceState|CreateOptionsMenu|ActivityResult)",
            r"\.(?:kt|java)\Z",
        ),
        (
            EntryKind.LIFECYCLE,
            r"view(?:Did|Will)\w+|application|scene|awakeFromNib|layoutSubviews|prepareForReuse|deinit|body",
            r"\.swift\Z",
        ),
        (
            EntryKind.LIFECYCLE,
            r"mount|render|handle_(?:event|info|call|cast|continue|params|async)|init|terminate"
            r"|code_change|start_link|child_spec|start|call|changeset|change|up|down",
            r"\.exs?\Z",
        ),
        (EntryKind.LIFECYCLE, r"change|up|down", r"db/migrate/.*\.rb\Z"),
        (
            EntryKind.LIFECYCLE,
            r"boot|register|up|down|handle",
            r"(?:Provider|Job|Command|Middleware|migrations/.*)\.php\Z",
        ),
    )
)  # fmt: skip


def conventional(path: str, name: str) -> Entry | None:
    """Return what calls a function because of its name and its file; None if nothing is known to."""
    for each in _CONVENTIONS:
        if each.names.fullmatch(name) and each.paths.search(path):
            method = next((verb.upper() for verb in _HTTP if verb in name.lower()), "")
            is_route = each.kind is EntryKind.ROUTE
            return Entry(each.kind, method if is_route else "", _path_of_file(path) if is_route else "")
    return None


def _path_of_file(path: str) -> str:
    """Return the route of a file in a folder of routes: `/ferries/[name]` for `src/routes/ferries/[name]`."""
    found = re.search(r"(?:^|/)(?:routes|app|pages|Pages)/(.*)\Z", path)
    inside = found[1] if found else path
    parts = [each for each in inside.split("/")[:-1] if not re.fullmatch(r"\(.*\)", each)]
    stem = inside.rpartition("/")[2].partition(".")[0]
    if stem not in ("+server", "route", "Index", "index"):
        parts.append(stem)
    return "/" + "/".join(parts)
