"""The answer to `cairn/discover` while it grows: after each stage, what the stage changed of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, field

from cairn import protocol
from cairn.discovery.model import AnswerPlan, Bullet, DiscoveryMetrics, DiscoveryResponse, ScoredChunk
from cairn.engine import results as answers

Tell = Callable[[protocol.DiscoverProgress], None]


@define
class PartialAnswers:
    """Listens to the stages of one run and tells what each changed."""

    _tell: Tell
    _passages: Callable[[Sequence[ScoredChunk]], tuple[protocol.SearchResult, ...]]
    """The chunks as results."""
    _bullet: Callable[[Bullet], protocol.Bullet]
    _known: DiscoveryResponse = field(
        factory=lambda: DiscoveryResponse("", AnswerPlan(), (), (), DiscoveryMetrics())
    )

    def __call__(self, stage: str, response: DiscoveryResponse) -> None:
        """`stage` has ended, and the answer is `response` by now."""
        before, self._known = self._known, response
        chunks = response.chunks if response.chunks != before.chunks else None
        bullets = response.bullets if response.bullets != before.bullets else None
        plan = response.plan if response.plan != before.plan else None
        prompt = response.answer_prompt if response.answer_prompt != before.answer_prompt else None
        self._tell(
            protocol.DiscoverProgress(
                stage=stage,
                metrics=answers.discover_metrics(response.metrics),
                chunks=None if chunks is None else self._passages(chunks),
                bullets=None if bullets is None else tuple(map(self._bullet, bullets)),
                plan=None if plan is None else answers.plan(plan, self._bullet),
                answer_prompt=prompt,
            )
        )
