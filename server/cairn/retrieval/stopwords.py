"""Words that say nothing about what is asked for, in English and Portuguese (S1, S2, S3)."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about all also am an and any are as at be because been being but by can could did do does doing done for from
    get gets give given go had has have having he her here hers him his how i if in into is it its itself just let
    like lot make makes many may me might more most much must my need needs no not of off on once one only or other
    our ours out over please really same see shall she should show so some something such tell than that the their
    them then there these they thing things this those through to too under up us use used uses using very want was
    we were what whats when where whether which while who whom whose why will with within without work works would
    you your yours explain describe find happen happens way ways
    """.split()
)

PORTUGUESE = frozenset(
    """
    o os as um uma uns umas de do da dos das em no na nos nas por pelo pela pelos pelas para com sem sob sobre entre
    e é ou mas se que qual quais quem como quando onde porque porquê por quê ser são foi era está estão ao aos à às
    isso isto este esta estes estas esse essa esses essas aquele aquela ele ela eles elas eu nós você vocês meu minha
    seu sua seus suas não sim também já muito mais menos ter tem têm há fazer faz funciona
    """.split()
)

STOPWORDS = ENGLISH | PORTUGUESE
