"""Other words count as a term: abbreviations, synonyms, translations, repairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from cairn.index.queries.known_words import KnownWord
from cairn.retrieval.query import Query, understand
from cairn.retrieval.wording import repair
from cairn.settings.tree import SearchSettings
from cairn.text.words import stem


class Words:
    """A vocabulary of words with their numbers of chunks; words in capitals are names."""

    readers = ()

    def __init__(self, **documents: int) -> None:
        self.known = [KnownWord(w.lower(), n, w.isupper(), stem(w.lower())) for w, n in documents.items()]

    def unknown(self, words: Sequence[str]) -> Collection[str]:
        return {word for word in words if stem(word) not in {known.stem for known in self.known}}

    def begun_by(self, prefix: str) -> Sequence[str]:
        return [known.text for known in self.known if known.text.startswith(prefix)]

    def near(self, word: str, errors: int) -> Sequence[KnownWord]:
        return self.known


def alternatives(text: str, word: str, **given: object) -> tuple[str, ...]:
    query: Query = understand(text, **given)  # type: ignore[arg-type]
    found = query.alternatives.get(word, ())
    assert (word, *found) in query.groups or not found
    return found


@pytest.mark.parametrize(
    ("text", "word", "others"),
    [
        ("fn pointers", "fn", ("function",)),
        ("impl of the struct", "impl", ("implementation",)),
        ("auth middleware", "auth", ("authentication", "authorization")),
        ("db pool", "db", ("database",)),
        ("where is the configuration read", "configuration", ("cfg", "config")),
        ("config files", "config", ("configuration",)),
        ("ctx", "ctx", ("context",)),
        ("a function of strings", "function", ()),  # `fn` would match every line
        ("authors of books", "authors", ()),
        ("TraceConfig", "config", ()),  # an identifier is not expanded
        ("what calls init_db", "db", ()),
        ("what is in db/app.py", "app", ()),
        ('the "db pool" here', "db", ()),
    ],
)
def test_abbreviations_and_full_words_are_alternatives(text: str, word: str, others: tuple[str, ...]) -> None:
    assert word in understand(text).terms
    assert alternatives(text, word) == others


SYNONYMS = SearchSettings(
    synonyms={"shortcuts": "quick links", "homepage": "home", "Dashboard": "home", "sign in": "login"}
)


@pytest.mark.parametrize(
    ("text", "terms", "groups"),
    [
        ("where are my shortcuts?", ("quick", "links"), (("quick", "shortcuts"), ("links",))),
        ("dashboard", ("home",), (("home", "dashboard"),)),
        ("homepage and dashboard", ("home",), (("home", "homepage", "dashboard"),)),
        ("how do users Sign  In", ("users", "login"), (("users",), ("login", "sign in"))),
        ("assign into", ("assign", "into"), (("assign",), ("into",))),
    ],
)
def test_synonyms_replace_words_which_still_count(
    text: str, terms: tuple[str, ...], groups: tuple[tuple[str, ...], ...]
) -> None:
    query = understand(text, settings=SYNONYMS)
    assert query.terms == tuple(term for term in terms if term != "into")
    assert query.groups == tuple(group for group in groups if group != ("into",))


def test_the_embedded_text_has_synonyms_and_repairs() -> None:
    query = understand("Shortcuts of the wrkspace", None, Words(WORKSPACE=3, quick=2, links=2), SYNONYMS)
    assert query.text == "Shortcuts of the wrkspace"
    assert query.meant == "quick links of the workspace"


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("Como a sessão do usuário é validada?", ("session", "sessão")),
        ("Como a sessao do usuario e validada?", ("user", "usuario")),
        ("como os arquivos são lidos", ("file", "arquivos")),
        ("onde ficam as conexões abertas", ("connection", "conexões", "conn")),
        ("qual função cria as rotas", ("create", "cria")),
        ("onde fica o banco de dados", ("database", "banco de dados", "db")),
        ("o que é autenticação", ("authenticate", "autenticação", "auth")),
        ("as variáveis de ambiente da aplicação", ("environment", "variáveis de ambiente", "env")),
        ("¿Dónde se cierra la conexión?", ("connection", "conexión", "conn")),
        ("Wie werden Umgebungsvariablen gelesen?", ("environment", "umgebungsvariablen", "env")),
        ("Pourquoi la requête est-elle rejetée ?", ("request", "requête")),
        ("Где разбирается заголовок запроса?", ("header", "заголовок")),
        ("中间件在哪里注册？", ("middleware", "中间件")),
        ("ミドルウェアはどこで登録されますか", ("middleware", "ミドルウェア")),
    ],
)
def test_questions_in_other_languages_find_english_code(text: str, group: tuple[str, ...]) -> None:
    assert group in understand(text).groups


@pytest.mark.parametrize(
    ("text", "word"), [("how are erro files read", "erro"), ("what is a reader", "reader")]
)
def test_words_of_english_questions_are_not_translated(text: str, word: str) -> None:
    assert alternatives(text, word) == ()


@pytest.mark.parametrize(
    ("word", "meaning"), [("servidor", "server"), ("warteschlange", "queue"), ("requête", "request")]
)
def test_an_unknown_foreign_word_is_translated_beside_names(word: str, meaning: str) -> None:
    assert alternatives(f"{word} http", word, vocabulary=Words(http=3)) == (meaning,)
    assert alternatives(f"{word} http", word, vocabulary=Words(http=3, **{word: 2})) == ()


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("servidor no arquivo", "server no file"),
        ("warteschlange geleert", "queue clear"),
        ("fichero cola", "file queue"),
    ],
)
def test_nouns_are_read_in_the_language_that_knows_most(text: str, english: str) -> None:
    assert understand(text, vocabulary=Words()).wording == english


def test_a_typing_error_is_repaired_and_reported() -> None:
    query = understand("explain wrkspace", vocabulary=Words(WORKSPACE=9, works=40))
    assert query.corrections == ("wrkspace → workspace",)
    assert query.terms == ("wrkspace",)
    assert query.groups == (("wrkspace", "workspace"),)


def test_a_word_that_is_being_typed_stands_for_those_that_it_begins() -> None:
    vocabulary = Words(workspace=9, worker=5, port=9)
    query = understand("port wor", vocabulary=vocabulary)
    assert query.groups == (("port",), ("wor", "workspace", "worker"))
    assert (query.meant, query.corrections) == ("port workspace", ())
    assert understand("port wor of", vocabulary=vocabulary).groups == (("port",), ("wor",))


def test_a_repaired_symbol_is_also_looked_up() -> None:
    assert understand("wrkspace", vocabulary=Words(WORKSPACE=9)).names == ("wrkspace", "workspace")


@pytest.mark.parametrize(
    "text",
    [
        "works well",  # known
        "wor",  # too short
        "port 8081",
        '"wrkspace"',
        "in wrkspace.py",
        "onde está o wrkspace",  # in another language
        "connector caching",  # common words
        "ctxt",
    ],
)
def test_other_words_are_not_repaired(text: str) -> None:
    vocabulary = Words(WORKSPACE=9, works=9, well=9, connect=9, catching=9, port=9, text=9)
    assert understand(text, vocabulary=vocabulary).corrections == ()


@pytest.mark.parametrize(
    ("word", "documents", "meant"),
    [
        ("wrkspace", {"workspace": 5}, "workspace"),
        ("conection", {"connection": 5}, "connection"),
        ("recieve", {"receive": 5}, "receive"),
        ("uesr", {"USER": 5}, "user"),
        ("uesr", {"user": 5}, None),  # a short word becomes only a name
        ("rack", {"RACE": 5}, None),  # a replaced letter is another word
        ("owrkspace", {"workspace": 5}, "workspace"),
        ("porkspace", {"workspace": 5}, None),  # the first letter is seldom wrong
        ("authentcaton", {"authentication": 5}, "authentication"),
        ("berthn", {"bertha": 5, "bertho": 1}, "bertha"),
        ("berthn", {"bertha": 5, "bertho": 4}, None),  # ambiguous
        ("berthn", {"bertha": 5, "BERTHO": 1}, "bertho"),
        ("modle", {"model": 1, "mode": 50}, "model"),  # swapped letters before a letter too many
        ("resolbad", {"resolves": 5}, None),  # two errors in a short stem
        ("harbour", {"wharf": 5}, None),
    ],
)
def test_the_clearly_nearest_word_is_chosen(word: str, documents: dict[str, int], meant: str | None) -> None:
    assert repair(word, Words(**documents)) == meant


def test_core_concepts_are_known_words() -> None:
    settings = SearchSettings(core_concepts=("Wrkspace", "widget"))
    query = understand("wrkspace wigdet", vocabulary=Words(WORKSPACE=9), settings=settings)
    assert query.corrections == ("wigdet → widget",)


def test_only_a_few_words_of_a_text_are_repaired() -> None:
    query = understand("wrkspace wokrspace workspce worksapce", vocabulary=Words(WORKSPACE=9))
    assert len(query.corrections) == 3
