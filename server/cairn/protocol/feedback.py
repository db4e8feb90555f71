"""`cairn/feedback` and `cairn.resetFeedback`."""

from __future__ import annotations

import enum
import re

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.schema.bounds import NOT_BLANK, at_most

_HASH = re.compile(r"^[0-9a-f]{32}$")


class FeedbackAction(enum.StrEnum):
    """What a user did with a result."""

    OPEN = "open"
    COPY = "copy"
    HELPFUL = "helpful"
    NOT_HELPFUL = "notHelpful"


@frozen
class FeedbackParams:
    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    """The query of the result. Only the stems of its words are stored."""
    content_hash: str = field(metadata=at_most(pattern=_HASH.pattern))
    """The content hash of the result."""
    action: FeedbackAction
    path: str = ""
    """The path of the result, which distinguishes it from copies."""
    folder: str = ""
    """The URI of the result's workspace folder."""

    def __attrs_post_init__(self) -> None:
        if not self.query.strip():
            raise InvalidRequestError("query", "is empty; give the question that the result answered")
        if not _HASH.fullmatch(self.content_hash):
            raise InvalidRequestError(
                "contentHash",
                f"{self.content_hash!r} is not a content hash; give the `contentHash` of a result",
            )


@frozen
class FeedbackAnswer:
    kept: bool
    """Whether the feedback was stored; false if the settings switch feedback off."""


@frozen
class ResetFeedbackParams:
    folder: str = ""
    """The URI of the workspace folder; if absent, all folders."""


@frozen
class ResetFeedbackAnswer:
    forgotten: int
    """How many stored choices were deleted."""
