"""A repository in which every text on a page is HTML or script that would call the canary if it ran."""

from __future__ import annotations

from pathlib import Path

from tests.git_repository import GitRepository
from tests.page.browsing import CANARY

IMAGE = f"<img src=x onerror={CANARY}()>"
SCRIPT = f"</script><script>{CANARY}()</script>"
QUOTED = f"\"'onfocus={CANARY}() autofocus x='"
ADDRESS = f"javascript:{CANARY}()"
TEMPLATE = "{{ 7 * 7 }}{% raw %}"

NAME = f"repository {IMAGE}"
"""The name of the folder, and so of the repository."""
CODE_FILE = f"{IMAGE}.py"
FOLDER = f"<svg onload={CANARY}()>"
NESTED_FILE = f"{FOLDER}/{QUOTED}.js"
ADDRESS_FILE = f"{ADDRESS}.md"
ENCODED_FILE = "%3Cscript%3E?q=1&x=#lines 100%.py"
REVERSED_FILE = "src/\u202egnp.yp\u202c.py"
SUBJECT = f"Commit {SCRIPT} {IMAGE}"
HEADING = f"Heading {IMAGE}"
FUNCTION = "moor_the_ship"
"""A function that `unload_the_ship` calls."""

FILES = {
    "pyproject.toml": f"[project]\nname = '{IMAGE}'\n",
    CODE_FILE: f'''"""Docstring {SCRIPT} {IMAGE} {TEMPLATE}"""


def {FUNCTION}(ship="{SCRIPT}"):
    """Moor the ship: {IMAGE} &lt;b&gt; {QUOTED}."""
    # Comment {SCRIPT}
    return f"<iframe srcdoc='<script>parent.{CANARY}()</script>'></iframe>{{ship}}"


def unload_the_ship(ship):
    """Unload the ship after it is moored: {IMAGE}"""
    return {FUNCTION}(ship)  # {IMAGE}
''',
    NESTED_FILE: f"""// {SCRIPT}
export function unmoorTheShip(ship) {{
  // Unmoor the ship {IMAGE}
  return `{SCRIPT}${{ship}}`;
}}
""",
    ADDRESS_FILE: f"""# {HEADING}

The harbour master moors ships. {SCRIPT} <a href="{ADDRESS}">press</a> [press]({ADDRESS})

## {SCRIPT}

{IMAGE} {TEMPLATE}
""",
    ENCODED_FILE: f"def encoded_tide():\n    return '{IMAGE}'\n",
    REVERSED_FILE: f"def reversed_tide():\n    return '{IMAGE}'\n",
    ".cairnignore": f"{IMAGE}.left-out\n",
    f"{IMAGE}.left-out": "left out\n",
}


def hostile_repository(parent: Path) -> Path:
    """Create the repository in a folder of `parent`, with two commits."""
    repository = GitRepository(parent / NAME, FILES)
    repository.write({CODE_FILE: FILES[CODE_FILE] + f"\n\ndef tide(): return '{IMAGE}'\n"})
    repository.commit(SUBJECT)
    return repository.folder
