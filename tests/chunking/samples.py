"""Samples of source code in many languages, from `tests/data/chunking`."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

FOLDER = Path(__file__).parents[1] / "data" / "chunking"


@frozen
class Sample:
    """A source file, and the expectations written above it."""

    path: str
    fields: dict[str, str]
    text: str

    def names(self, field: str) -> tuple[str, ...]:
        return tuple(filter(None, self.fields.get(field, "").split(", ")))


def read_samples(file: str) -> dict[str, Sample]:
    """Return the samples of a file, by their names: `=== name: path`, then fields, `---` and the text."""
    samples = {}
    for section in (FOLDER / file).read_text("utf-8").removeprefix("=== ").split("\n=== "):
        head, text = section.rstrip("\n").split("\n---\n", 1)
        title, *fields = (line.split(": ", 1) for line in head.split("\n"))
        samples[title[0]] = Sample(title[1], dict(fields), text + "\n")
    return samples


@frozen
class LargeClass:
    """A class with three methods, a head, and in some languages a function after it."""

    path: str
    template: str
    method: str
    line: str
    """A line of a method's body, of some 30 characters."""

    def methods(self, lines: int) -> list[str]:
        return [self.method.format(name, filler=self.line * lines) for name in ("sail", "dock", "sink")]

    def text(self, lines: int = 20) -> str:
        return self.template.format(*self.methods(lines), filler=self.line * lines)


CLASSES = {
    "python": LargeClass(
        "ships.py",
        'class Ship(Vessel):\n    """A ship."""\n\n    length = 1\n\n{0}\n{1}\n{2}\ndef moor(ship):\n{filler}',  # noqa: E501
        "    # Says {0}.\n    @log\n    def {0}(self):\n{filler}",
        "        self.remember(self.position, 'a word')\n",
    ),
    "typescript": LargeClass(
        "ships.ts",
        "/** A ship. */\nexport class Ship {{\n  length = 1;\n\n{0}\n{1}\n{2}}}\n\nfunction moor(ship: Ship) {{\n{filler}}}\n",  # noqa: E501
        "  // Says {0}.\n  {0}(): void {{\n{filler}  }}\n",
        "    this.remember(this.position, 'a word');\n",
    ),
    "java": LargeClass(
        "Ship.java",
        "/** A ship. */\npublic class Ship {{\n  int length = 1;\n\n{0}\n{1}\n{2}}}\n",
        "  /** Says {0}. */\n  @Override\n  public void {0}() {{\n{filler}  }}\n",
        '    this.remember(this.position, "a word");\n',
    ),
    "rust": LargeClass(
        "ship.rs",
        "/// A ship.\npub struct Ship;\n\nimpl Ship {{\n{0}\n{1}\n{2}}}\n\nfn moor(ship: Ship) {{\n{filler}}}\n",  # noqa: E501
        "    /// Says {0}.\n    #[inline]\n    pub fn {0}(&self) {{\n{filler}    }}\n",
        "        self.remember(self.position, 1);\n",
    ),
    "ruby": LargeClass(
        "ship.rb",
        "# A ship.\nclass Ship\n  attr_reader :length\n\n{0}\n{1}\n{2}end\n",
        "  # Says {0}.\n  def {0}\n{filler}  end\n",
        "    remember(position, 'a word')\n",
    ),
    "cpp": LargeClass(
        "ship.cpp",
        "// A ship.\nclass Ship {{\n public:\n  int length;\n\n{0}\n{1}\n{2}}};\n",
        "  // Says {0}.\n  void {0}() {{\n{filler}  }}\n",
        "    this->remember(this->position, 1);\n",
    ),
    "swift": LargeClass(
        "Ship.swift",
        "/// A ship.\npublic class Ship {{\n  var length = 1\n\n{0}\n{1}\n{2}}}\n",
        "  /// Says {0}.\n  @discardableResult\n  func {0}() {{\n{filler}  }}\n",
        "    self.remember(self.position, 1)\n",
    ),
    "dart": LargeClass(
        "ship.dart",
        "/// A ship.\nclass Ship {{\n  int length = 1;\n\n{0}\n{1}\n{2}}}\n",
        "  /// Says {0}.\n  @override\n  void {0}() {{\n{filler}  }}\n",
        "    this.remember(this.position, 1);\n",
    ),
    "elixir": LargeClass(
        "ship.ex",
        "defmodule Ship do\n  use Vessel\n\n{0}\n{1}\n{2}end\n",
        '  @doc """\n  Says {0}.\n  """\n  def {0}(ship) do\n{filler}  end\n',
        "    remember(ship.position, :word)\n",
    ),
}
