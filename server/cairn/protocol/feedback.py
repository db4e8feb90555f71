"""`cairn/feedback` and `cairn.resetFeedback`."""

from __future__ import annotations

import enum
import re

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.schema.bounds import NOT_BLANK, at_most

_HASH = re.compile(r"^[0-9a-f]{32}$")


class FeedbackAction(enum.StrEnum):
    """What somebody did with a result."""

    OPEN = "open"
    COPY = "copy"
    HELPFUL = "helpful"
    NOT_HELPFUL = "notHelpful"


@frozen
class FeedbackParams:
    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    """What was asked; of it only the stems of its words are kept."""
    content_hash: str = field(metadata=at_most(pattern=_HASH.pattern))
    """Of the result."""
    action: FeedbackAction
    path: str = ""
    """The result's, to tell it apart from copies."""
    folder: str = ""
    """URI of the result's workspace folder."""

    def __attrs_post_init__(self) -> None:
        if not self.query.strip():
            raise InvalidRequestError("query", "is empty; give the question that the result answered")
        if not _HASH.fullmatch(self.content_hash):
            raise InvalidRequestError(
                "contentHash", f"{self.content_hash!r} is none; give a result's `contentHash` as it is"
            )


@frozen
class FeedbackAnswer:
    kept: bool
    """False where the settings say that nothing is to be learned."""


@frozen
class ResetFeedbackParams:
    folder: str = ""
    """URI of the workspace folder; all when absent."""


@frozen
class ResetFeedbackAnswer:
    forgotten: int
    """Choices that there were."""
