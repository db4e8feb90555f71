"""The outcome of the rules about one file or directory."""

from __future__ import annotations

from attrs import frozen


@frozen
class Decision:
    """Whether a file or directory is indexed, and the rule that decided."""

    indexed: bool
    rule: str
    """The same text for all that the rule decides, so that they can be counted by it."""
    detail: str = ""
    """What is particular to this path, such as the line of the ignore file."""

    @property
    def explanation(self) -> str:
        """Rule and detail in one line: `ignored by docs/.gitignore, docs/.gitignore:3: *.tmp`."""
        return f"{self.rule} ({self.detail})" if self.detail else self.rule


INDEXED = Decision(True, "no rule excludes it")
