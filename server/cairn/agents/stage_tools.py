"""The nine stages of discovery as tools: they take the params of the protocol's methods and answer in JSON.

They are for custom pipelines. An agent that only wants an answer uses `discover`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cairn.agents.arguments import WORKSPACE, without_nulls
from cairn.agents.tool_call import ToolCall
from cairn.engine.methods import STAGES, Method
from cairn.schema.convert import snake_case, unstructure

MANUALS = {
    "filterCollections": "Stage 1 of discovery: the collections that a question is about.",
    "scoreCollections": (
        "Stage 2 of discovery: rank `collections`, those of filter_collections, by how well they fit."
    ),
    "expandQueries": "Stage 3 of discovery: variations of a question for the stages that search.",
    "broadDiscovery": (
        "Stage 4 of discovery: search everything with several queries. Give `queries` of expand_queries "
        "and the `collections` that were chosen; all of them when absent."
    ),
    "semanticFocus": (
        "Stage 5 of discovery: search one collection deeply; call it for each of the best few. "
        'Example: {"collection": {"name": "harbour-source"}, "queries": ["how are berths assigned"], "k": 10}'
    ),
    "promoteReadme": (
        "Stage 6 of discovery: put READMEs first where the question asks what a thing is. `hits` are the "
        "`chunks` of broad_discovery and semantic_focus together, as they are."
    ),
    "compressEvidence": (
        "Stage 7 of discovery: pick the sentences that answer, each with its citation. `chunks` are those of "
        "promote_readme, as they are; give the question as `query`."
    ),
    "buildAnswerPlan": (
        "Stage 8 of discovery: arrange evidence in sections. `bullets` are those of compress_evidence, as "
        "they are."
    ),
    "renderPrompt": (
        "Stage 9 of discovery: write the prompt for a language model. `plan` is that of build_answer_plan, "
        "as it is; give the question as `query`."
    ),
}
"""The manual of each stage, by the name of its method."""
NAMES: Mapping[str, Method] = {snake_case(name): method for name, method in STAGES.items()}
"""The tools' names, in the order in which the stages run."""


def stage_data(method: Method, call: ToolCall, arguments: Mapping[str, Any]) -> Any:
    """Return the stage's answer. Raise InvalidRequestError for params that it does not take."""
    params = {name: value for name, value in without_nulls(arguments).items() if name != WORKSPACE}
    return call.request(method.name, params)


def stage(method: Method, call: ToolCall, arguments: Mapping[str, Any]) -> str:
    """Return the stage's answer as compact JSON, which the next stage accepts."""
    answer = stage_data(method, call, arguments)
    return json.dumps(unstructure(answer), ensure_ascii=False, separators=(",", ":"))
