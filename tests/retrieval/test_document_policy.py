"""The wording of a question decides where READMEs and other documents rank."""

from __future__ import annotations

import pytest
from attrs import evolve

from cairn.retrieval.intent import Documents, Readme, documents_of, readme_of
from cairn.retrieval.query import understand
from cairn.retrieval.question_kinds import QueryType

FIRST, RAISED, AS_IT_IS = Readme.FIRST, Readme.RAISED, Readme.AS_IT_IS
WELCOME, EQUAL, PENALISED = Documents.WELCOME, Documents.EQUAL, Documents.PENALISED


@pytest.mark.parametrize(
    ("question", "readme", "for_places", "for_evidence"),
    [
        # Overviews and first steps.
        ("what is flask", FIRST, WELCOME, WELCOME),
        ("what are blueprints", FIRST, WELCOME, WELCOME),
        ("O que é o vectorizer", FIRST, WELCOME, WELCOME),
        ("o que e o vectorizer", FIRST, WELCOME, WELCOME),
        ("o que são blueprints", FIRST, WELCOME, WELCOME),
        ("how do I install it", FIRST, WELCOME, WELCOME),
        ("como instalar", FIRST, WELCOME, WELCOME),
        ("getting started", FIRST, WELCOME, WELCOME),
        ("explain flask", FIRST, PENALISED, EQUAL),
        ("explique o flask", FIRST, PENALISED, EQUAL),
        # Parts of a project.
        ("how does digest authentication work", RAISED, PENALISED, EQUAL),
        ("explain the life cycle of a request", RAISED, PENALISED, EQUAL),
        ("how can I upload a file", RAISED, WELCOME, WELCOME),
        ("why is the session empty", RAISED, WELCOME, WELCOME),
        # Places and mistakes.
        ("where are sessions signed", AS_IT_IS, PENALISED, PENALISED),
        ("which class handles redirects", AS_IT_IS, PENALISED, PENALISED),
        ("onde os navios são guardados", AS_IT_IS, PENALISED, PENALISED),
        ("moor_ship", AS_IT_IS, PENALISED, PENALISED),
        ("fix the crash in moor_ship", AS_IT_IS, PENALISED, PENALISED),
        ("ValueError: berth is taken", AS_IT_IS, PENALISED, PENALISED),
        # Other questions: a search prefers code, while evidence may also be in documents.
        ("session cookies", AS_IT_IS, PENALISED, EQUAL),
        ("implement a new storage layer", AS_IT_IS, PENALISED, EQUAL),
        ("optimise the ranking loop", AS_IT_IS, PENALISED, EQUAL),
        # Documents asked for by name.
        ("changelog", AS_IT_IS, WELCOME, WELCOME),
        ("documentation of the ranking", AS_IT_IS, EQUAL, EQUAL),
    ],
)
def test_a_question_decides_about_documents(
    question: str, readme: Readme, for_places: Documents, for_evidence: Documents
) -> None:
    query = understand(question)
    quoting = evolve(query, for_evidence=True)
    assert readme_of(query) is readme_of(quoting) is readme
    assert (documents_of(query), documents_of(quoting)) == (for_places, for_evidence)


@pytest.mark.parametrize("kind", QueryType)
@pytest.mark.parametrize("for_evidence", [False, True])
def test_only_explanations_raise_a_readme_by_type(kind: QueryType, for_evidence: bool) -> None:
    def readme(terms: int) -> Readme:
        words = ("session", "cookies")[:terms]
        query = evolve(understand("session cookies"), type=kind, terms=words, for_evidence=for_evidence)
        return readme_of(query)

    explains = kind is QueryType.EXPLANATION
    assert (readme(1), readme(2)) == ((FIRST, RAISED) if explains else (AS_IT_IS, AS_IT_IS))


def test_a_variation_is_judged_by_the_original_wording() -> None:
    varied = evolve(
        understand("what is moored"), original_wording="where are ships moored", for_evidence=True
    )
    assert documents_of(varied) is PENALISED
    assert documents_of(evolve(varied, original_wording="")) is WELCOME
