"""Map programmers' abbreviations to words and back: `ctx` finds "context", "configuration" finds `config`."""

from __future__ import annotations

from cairn.text.words import stem

_SHORT = """
    acct account | addr address | admin administrator | alloc allocate allocation | app application
    apps applications | arg argument | args arguments | arr array | async asynchronous | attr attribute
    attrs attributes | auth authentication authorization | authn authentication | authz authorization
    bool boolean | btn button | buf buffer | calc calculate | cb callback | cert certificate | certs certificates
    cfg config configuration | char character | cmd command | cmds commands | cnt count | col column
    conf config configuration | config configuration | configs configurations | conn connection | conns connections
    const constant | coord coordinate | cred credential | creds credentials | ctor constructor | ctx context
    curr current | db database | dbs databases | decl declaration | def definition | del delete | dep dependency
    deps dependencies | desc description | dest destination | dev development | dict dictionary | dir directory
    dirs directories | doc documentation | docs documentation | dst destination | elem element | env environment
    envs environments | err error | errs errors | evt event | exc exception | exec execute | expr expression
    ext extension | fmt format | fn function | fns functions | func function | funcs functions | gen generate
    hdr header | i18n internationalization | idx index | img image | impl implementation | impls implementations
    info information | init initialization | int integer | iter iterator | js javascript | k8s kubernetes | l10n localization
    a11y accessibility | len length | lib library | libs libraries | md markdown | mem memory | mgr manager | mod module
    msg message | msgs messages | nav navigation | ns namespace | num number | obj object | op operation
    ops operations | opt option | opts options | org organization | orig original | param parameter | params parameters
    passwd password | perf performance | perm permission | perms permissions | pkg package | pkgs packages | pkt packet
    pref preference | prefs preferences | prev previous | proc process | prod production | prop property
    props properties | ptr pointer | pwd password | py python | rb ruby | ref reference | refs references
    regexp regex | repo repository | repos repositories | req request | reqs requests | res response result
    resp response | rm remove | sched scheduler | sep separator | sess session | spec specification
    specs specifications | src source | srv server | stats statistics | stmt statement | str string | struct structure
    structs structures | sync synchronization | tbl table | temp temporary | tmp temporary temp | ts typescript
    tz timezone | usr user | util utility | utils utilities | val value | vals values | var variable | vars variables
    vec vector | ver version | ws websocket | yml yaml
"""  # noqa: E501
EXPANSIONS: dict[str, tuple[str, ...]] = {
    short: tuple(full)
    for line in _SHORT.strip().splitlines()
    for short, *full in (entry.split() for entry in line.split("|"))
}
"""The words that each abbreviation may stand for."""

# Ambiguous abbreviations are left out. `func`, `str`, `err`, `async`, `param` or `cmd` occur in nearly every
# chunk of some languages (the last three lowered NDCG@10); `spec` and `doc` mean files of their own kind.
_SAFE = tuple("auth cert cfg config conn creds ctx db dir env init msg repo stats tmp".split())

_ALIKE = 7
"""How many leading letters must agree beside the stem: "author" has the stem of "authorization"."""


def other_lengths(word: str) -> tuple[str, ...]:
    """Return the words that the lower-case `word` stands for, or its abbreviations, without `word` itself."""
    if word in EXPANSIONS:
        return EXPANSIONS[word]
    return tuple(
        short
        for short in _SAFE
        for full in EXPANSIONS[short]
        if stem(full) == stem(word) and full[:_ALIKE] == word[:_ALIKE]
    )
