"""The files of a small workspace with many languages, projects, copies, imports, accents and odd names."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping

BERTH = '''"""Berths, and the ships that lie in them."""

from __future__ import annotations

from harbour.crane import Crane
from harbour.tide import tide_level


class BerthError(Exception):
    """A ship cannot be docked."""


class Berth:
    """A place where one ship lies, with the crane beside it."""

    def __init__(self, number: int, depth: float) -> None:
        self.number = number
        self.depth = depth
        self.ship = None
        self.crane = Crane(number)

    def dock_ship(self, ship, hour: int):
        """Moor the ship, if the water is deep enough at that hour."""
        if self.ship is not None:
            raise BerthError(f"berth {self.number} is taken: it lies there already")
        if tide_level(hour) + self.depth < ship.draught:
            raise BerthError("cannot dock: the water is too shallow")
        self.ship = ship
        return self.crane.lift(ship.cargo)

    def undock_ship(self):
        """Let the ship go, and say which one it was."""
        ship, self.ship = self.ship, None
        self.crane.rest()
        return ship


def free_berths(berths):
    """Those berths of a harbour where no ship lies, the deepest first."""
    return sorted((berth for berth in berths if berth.ship is None), key=lambda berth: -berth.depth)


def Handler(event):
    """Handles an event of a berth."""
    return free_berths([event.berth])
'''

CRANE = '''"""Cranes that lift cargo."""

MAX_LOAD = 40_000


class OverloadError(ValueError):
    """The cargo is too heavy."""


class Crane:
    """Lifts cargo between a ship and the quay."""

    def __init__(self, number):
        self.number = number
        self.hook = None

    def lift(self, cargo):
        """Lift the cargo; refuses what is heavier than MAX_LOAD."""
        if cargo.weight > MAX_LOAD:
            raise OverloadError("E4711: cargo exceeds the maximum load of the crane")
        self.hook = cargo
        return cargo

    def rest(self):
        """Let the hook down."""
        self.hook = None


def handler(event):
    """Handles an event of a crane."""
    return Crane(event.number).lift(event.cargo)
'''

TIDE = '''"""When the water is high."""

import math

HOURS = 12.42


def tide_level(hour: float) -> float:
    """The level of the water at that hour, in metres, by the moon."""
    return 2.0 * math.sin(2 * math.pi * hour / HOURS)


def next_high_tide(hour: float) -> float:
    """The hour of the next high tide after the given one."""
    while tide_level(hour) < 1.99:
        hour += 0.05
    return hour


def HANDLER(event):
    """Handles an event of the tide."""
    return next_high_tide(event.hour)
'''

TEST_BERTH = '''"""Tests of berths."""

import pytest

from harbour.berth import Berth, BerthError, free_berths


class Ship:
    draught = 3.0
    cargo = None


def test_a_ship_is_docked():
    berth = Berth(1, 12.0)
    berth.dock_ship(Ship(), 3)
    assert berth.undock_ship() is not None


def test_a_taken_berth_refuses_a_ship():
    berth = Berth(1, 12.0)
    berth.ship = Ship()
    with pytest.raises(BerthError, match="is taken"):
        berth.dock_ship(Ship(), 3)


def test_free_berths_are_sorted_by_depth():
    assert free_berths([Berth(1, 3.0), Berth(2, 9.0)])[0].number == 2
'''

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Gezeitenhöhe") for form in ("NFC", "NFD"))

ACCENTS = f'''"""Names with accents, composed and decomposed."""


def größe_des_schiffs(länge, breite):
    """Die Größe eines Schiffs in Quadratmetern."""
    return länge * breite


def café_du_port(heure):
    """Le café du port ouvre à huit heures; Ἀθῆναι, Москва, 東京港の渡し船."""
    return heure >= 8


def {unicodedata.normalize("NFC", "marée")}_haute(jour):
    """{COMPOSED} composed: {unicodedata.normalize("NFC", "naïve déjà-vu")}."""
    return jour % 2


def {unicodedata.normalize("NFD", "marée")}_basse(jour):
    """{DECOMPOSED} decomposed: {unicodedata.normalize("NFD", "naïve déjà-vu")}."""
    return jour % 3
'''

CLIENT_TS = """import { Crane } from './crane';
import type { Tide } from '../types';

export interface HarbourOptions {
  readonly url: string;
  readonly retries?: number;
}

/** Needs the harbour's server. */
export class HarbourClient {
  constructor(private readonly options: HarbourOptions) {}

  async fetchTide(hour: number): Promise<Tide> {
    const answer = await fetch(`${this.options.url}/tide?hour=${hour}`);
    if (!answer.ok) {
      throw new Error(`Tide service unavailable: ${answer.status}`);
    }
    return (await answer.json()) as Tide;
  }

  dockShip(name: string): Crane | undefined {
    const found = this.options.retries ?? 3;
    console.logHarbourState(found);
    return found > 0 && name !== '' ? new Crane(name) : undefined;
  }
}

export const handler = (event: { hour: number }) => new HarbourClient({ url: '' }).fetchTide(event.hour);
"""

CRANE_TS = """/** A crane as the browser shows it. */
export class Crane {
  constructor(readonly name: string) {}

  lift(cargo: { weight: number }): boolean {
    return cargo.weight <= 40_000;
  }
}

export function renderCrane(crane: Crane): string {
  return `<b class="crane">${crane.name}</b>`;
}
"""

OPERATORS_JS = """export const pick = (a, b) => a?.b?.[0] ?? b;
export const shift = (n) => (n >>>= 2, n ** 2, n !== 3 && n === 4);
export const spread = (...rest) => ({ ...rest, [`${rest.length}`]: rest });
export function regexes(text) {
  return /^[a-z]+\\d*$/i.test(text) || text.replace(/%s|%d|\\$\\{.*\\}/g, "''") !== "\\\\n";
}
"""

SHIP_GO = """// Package ship knows ships.
package ship

import "fmt"

// Ship is a vessel with a draught.
type Ship struct {
	Name    string
	Draught float64
}

// NewShip makes a ship; a draught below zero is an error.
func NewShip(name string, draught float64) (*Ship, error) {
	if draught < 0 {
		return nil, fmt.Errorf("ship %q: negative draught %v", name, draught)
	}
	return &Ship{Name: name, Draught: draught}, nil
}

// Sail moves the ship out of the harbour.
func (s *Ship) Sail(to string) string {
	return s.Name + " -> " + to
}
"""

MAIN_GO = """package main

import (
	"fmt"

	"example.com/fleet/ship"
)

func main() {
	vessel, err := ship.NewShip("Aurora", 4.5)
	if err != nil {
		panic(err)
	}
	fmt.Println(vessel.Sail("Hamburg"))
}

func Handler(name string) (*ship.Ship, error) {
	return ship.NewShip(name, 1)
}
"""

SHIP_TEST_GO = """package ship

import "testing"

func TestNewShipRefusesNegativeDraught(t *testing.T) {
	if _, err := NewShip("x", -1); err == nil {
		t.Fatal("a negative draught was accepted")
	}
}
"""

WINCH_C = """#include "winch.h"
#include <stdio.h>

#define WINCH_MAX 16

static int ropes[WINCH_MAX];

/* Pull the rope in; returns what is left of it. */
int winch_pull(struct winch *w, int metres)
{
	if (w == NULL || metres > w->length)
		return -1;
	w->length -= metres;
	ropes[w->id % WINCH_MAX] += metres;
	return w->length;
}

void winch_release(struct winch *w)
{
	printf("winch %d: released\\n", w->id);
	winch_pull(w, w->length);
}
"""

WINCH_H = """#ifndef WINCH_H
#define WINCH_H

struct winch {
	int id;
	int length;
};

int winch_pull(struct winch *w, int metres);
void winch_release(struct winch *w);

#endif
"""

README = """# Harbour

Harbour plans where ships lie, when the water is high enough for them, and which crane lifts their cargo.

## Quick start

Install it and dock a first ship:

```python
from harbour.berth import Berth

berth = Berth(1, depth=12.0)
berth.dock_ship(ship, hour=3)
```

```sh
harbour plan --tide 3 --berth 1
```

## Architecture

Berths know their crane and ask the tide; the web client asks the server; the fleet is written in Go, the winches in C.

## Troubleshooting

If a ship cannot dock, look at the tide first: `cannot dock: the water is too shallow` means that the ship has to wait.
"""  # noqa: E501

GUIDE = f"""# The harbour master's guide

## Mooring

Moor the ship with two ropes. A winch pulls them in. Never stand beside a rope under load.

### In a storm

In a storm four ropes are used, and the crane rests. The storm procedure is written in the operations handbook.

## Marées

La {COMPOSED} et le café: {DECOMPOSED}. Voir déjà les horaires; 50% off, under_score, [brackets], 'quotes' and "double".

## Permits

{" ".join(f"Permit number {number} is given by the office for berth {number % 7}." for number in range(40))}
"""  # noqa: E501

LICENSE = "Copyright the harbour office.\n\nPermission is hereby granted to anybody who docks here, free of charge.\n"  # noqa: E501

TOML = """[port]
name = "Aurora harbour"
berths = 7

[port.cranes]
max_load = 40000
timeout_seconds = 30

[tide]
source = "https://tides.example.com/v1"
"""

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Spring tides\n", "How high the water rises."]},  # noqa: E501
            {
                "cell_type": "code",
                "metadata": {},
                "execution_count": 1,
                "outputs": [],
                "source": ["def spring_tide(day):\n", '    """The level of a spring tide."""\n', "    return day * 1.2\n"],  # noqa: E501
            },
        ],
        "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)  # fmt: skip

PILOT_BODY = "".join(f"    course_{line} = heading + {line} * knots\n" for line in range(25))
PILOTS = "\n\n".join(
    f"def pilot_{number}(heading, knots):\n"
    f'    """Pilot number {number} brings ships in."""\n{PILOT_BODY}    return course_{number % 25}\n'
    for number in range(30)
)
"""Many similar chunks."""

ROUTES = "".join(f'ROUTE_{number} = ("Bergen", "Oslo", {number} * 7)\n' for number in range(40))

LONG_LINE = "lighthouse " + "0123456789abcdef" * 300 + " beacon\nsecond_line_of_the_log = 1\n"

TEXTS: Mapping[str, str] = {
    "README.md": README,
    "LICENSE": LICENSE,
    "pyproject.toml": '[project]\nname = "harbour"\nversion = "1.0"\n',
    "src/harbour/__init__.py": "",
    "src/harbour/berth.py": BERTH,
    "src/harbour/crane.py": CRANE,
    "src/harbour/tide.py": TIDE,
    "src/harbour/accents.py": ACCENTS,
    "src/harbour/café.py": 'def open_café():\n    """Opens the café at the quay."""\n    return True\n',
    "src/pilots.py": PILOTS,
    "src/routes.py": ROUTES,
    "legacy/routes.py": ROUTES,
    "legacy/berth.py": BERTH.replace("the deepest first", "the deepest ones first"),
    "tests/test_berth.py": TEST_BERTH,
    "web/package.json": '{"name": "harbour-web", "version": "1.0.0", "dependencies": {"left-pad": "1"}}\n',
    "web/src/client.ts": CLIENT_TS,
    "web/src/crane.ts": CRANE_TS,
    "web/src/operators.js": OPERATORS_JS,
    "web/LICENSE": LICENSE,
    "fleet/go.mod": "module example.com/fleet\n\ngo 1.22\n",
    "fleet/main.go": MAIN_GO,
    "fleet/ship/ship.go": SHIP_GO,
    "fleet/ship/ship_test.go": SHIP_TEST_GO,
    "native/winch.c": WINCH_C,
    "native/winch.h": WINCH_H,
    "docs/guide.md": GUIDE,
    "config/port.toml": TOML,
    "notebooks/tides.ipynb": NOTEBOOK,
    "data/log.txt": LONG_LINE,
    "data/odd [name] 100%_'x'.txt": "An odd name: SELECT * FROM ships WHERE name = 'x'; --\n",
}
"""Texts by path. `LICENSE` and `web/LICENSE` are equal, `legacy/routes.py` is a copy of `src/routes.py`, and
`legacy/berth.py` is nearly `src/harbour/berth.py`."""

BINARY: Mapping[str, bytes] = {"data/chart.txt": b"\0\1\2\3lighthouse\0" * 40}

COMMITS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Berths and tides", ("src/harbour/berth.py", "src/harbour/tide.py")),
    ("Refuse heavy cargo on every crane", ("src/harbour/crane.py", "src/harbour/berth.py")),
    ("Sort berths by depth", ("src/harbour/berth.py", "src/harbour/crane.py")),
    ("A winch in C", ("native/winch.c", "native/winch.h")),
    ("Release the winch when a rope snaps", ("native/winch.c", "native/winch.h")),
    ("Show the crane in the browser", ("web/src/client.ts", "web/src/crane.ts")),
)
"""Subjects, oldest first, each with the files that it changes. A last commit adds the other files."""

OTHER_ONLY = "src/harbour/quarantine.zig"
OTHER_REVISION: Mapping[str, str | None] = {
    "src/harbour/crane.py": CRANE.replace("class Crane", "class GantryXylophone")
    .replace("def lift", "def zzgantrylift")
    .replace("E4711", "E0815"),
    "src/harbour/tide.py": TIDE.replace("def tide_level", "def zztidelevel"),
    OTHER_ONLY: (
        "const std = @import(\"std\");\n\n"
        "/// Keeps a ship with zymurgy in quarantine.\n"
        "pub fn zzquarantineShip(days: u32) u32 {\n    return days * 40;\n}\n\n"
        "pub fn Handler(days: u32) u32 {\n    return zzquarantineShip(days);\n}\n"
    ),
    "ferry/package.json": '{"name": "zzferry", "version": "1.0.0"}\n',
    "ferry/src/ferry.ts": "export class Crane {\n  lift(zzpassengers: number) {\n    return zzpassengers;\n  }\n}\n",  # noqa: E501
    **{
        f"ferry/src/deck{number}.ts": f"export class Crane {{\n  lift(deck{number}: number) {{\n    return {number};\n  }}\n}}\n"  # noqa: E501
        f"export function handler() {{\n  return {number};\n}}\n"
        for number in range(20)
    },
    "LICENSE": None,
}  # fmt: skip
"""Files of another revision, with names, a language and a project of its own; None for missing files."""

OTHER_WORDS = ("zymurgy", "zzquarantineship", "gantryxylophone", "zzferry", "zztidelevel")
"""Words that only the other revision has."""


def text_at(path: str, commit: int) -> str:
    """Return the text of a file in this commit; the last commit has that of TEXTS."""
    mark = "#" if path.endswith(".py") else "//"
    return TEXTS[path] if commit == len(COMMITS) else f"{TEXTS[path]}{mark} {commit}\n"
