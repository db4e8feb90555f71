"""Questions in other languages are translated into English."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.retrieval.natural_languages.lexicon import ALIGNED, BY_HAND, lexicon, read_lexicon
from cairn.retrieval.natural_languages.translation import in_english
from cairn.retrieval.query import understand
from cairn.retrieval.question_kinds import QueryType, QuestionKind, question_kinds


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Onde são lidas as variáveis de ambiente?", "Where read environment variable?"),
        ("¿Quién llama a `open_session`?", "What calls `open_session`?"),
        ("que funcion lee el archivo y donde", "Which function read file and where"),
        ("Was ist der Unterschied zwischen layer und route_layer?", "What is the difference between layer and route_layer?"),  # noqa: E501
        ("Wo wird der Dateideskriptor freigegeben?", "Where file descriptor release?"),
        ("Wer ruft uv__close auf?", "What calls uv__close?"),
        ("wo wird die warteschlange geleert", "Where queue clear"),
        ("Wo werden Fehlercodes zurueckgegeben und aufgeraeumt?", "Where error code return and clean up?"),
        ("Que se passe-t-il étape par étape quand l'URL est vide ?", "What happens step by step when URL empty?"),  # noqa: E501
        ("Pourquoi n'est-il pas appelé ?", "Why not call?"),
        ("Какие тесты проверяют разбор заголовков?", "Which tests check parse header?"),
        ("Что нужно изменить, чтобы добавить новый формат?", "What must be changed, add new format?"),
        ("哪些测试检查了请求头？", "Which tests check request header?"),
        ("ＨＴＴＰ 请求在哪里被拒绝？", "Where HTTP request reject?"),
        ("Cookie を設定しているのはなぜですか？", "Why Cookie setting?"),
        ("環境変数はどこで読み込まれますか", "Where environment variable read"),
        ("where is the file read", "where is the file read"),
        ("Gdzie jest czytany plik i dlaczego?", "Gdzie jest czytany plik i dlaczego?"),
    ],
)  # fmt: skip
def test_a_question_is_translated_word_by_word(text: str, english: str) -> None:
    assert in_english(text).text == english


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('¿Por qué dice "el archivo no existe"?', '"el archivo no existe"'),
        ("Wo steht Request.die_datei in src/datei/lesen.py?", "Request.die_datei"),
        ("Wo steht Request.die_datei in src/datei/lesen.py?", "src/datei/lesen.py"),
        ("Warum? Error: The value is not of that type.", "Error: The value is not of that type."),
        ("¿Qué falla? Maximum request body size 10 exceeded, actual body size 11", "actual body size 11"),
        ("Почему падает parseResponse()?", "parseResponse()"),
        ("为什么 uv_close 会报错 ENOENT？", "uv_close"),
        ("《read file》はどこですか", '"read file"'),
    ],
)
def test_names_quotes_and_messages_stay(text: str, kept: str) -> None:
    assert kept in in_english(text).text


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (QuestionKind.COMPARE, ("qual é a diferença entre a e b", "¿en qué se diferencia A de B?", "Worin unterscheidet sich A von B?",  # noqa: E501
                                "Quelle est la différence entre A et B ?", "Чем отличается A от B?", "A 和 B 有什么区别？", "A と B の違いは何ですか")),  # noqa: E501
        (QuestionKind.CONFIG, ("que variável de ambiente define isto?", "¿Qué variable de entorno lo activa?", "Welche Umgebungsvariable gibt es?",  # noqa: E501
                               "Quelle variable d'environnement ?", "Какая переменная окружения нужна?", "哪个环境变量", "どの環境変数ですか")),  # noqa: E501
        (QuestionKind.FLOW, ("o que acontece passo a passo?", "¿Qué ocurre paso a paso?", "Was passiert Schritt für Schritt?",  # noqa: E501
                             "Que se passe-t-il, étape par étape ?", "Что происходит шаг за шагом?", "一步一步会发生什么？", "順番に何が起こりますか")),  # noqa: E501
        (QuestionKind.CALLERS, ("quem chama run?", "¿quién llama a run?", "Wer ruft run auf?", "Qui appelle run ?", "Кто вызывает run?",  # noqa: E501
                                "谁调用了 run？", "run を呼び出しているのは何ですか")),
        (QuestionKind.TESTS, ("quais testes verificam isto?", "¿Qué pruebas lo comprueban?", "Welche Tests prüfen das?", "Quels tests le vérifient ?",  # noqa: E501
                              "Какие тесты это проверяют?", "哪些测试覆盖了它？", "どのテストが確認していますか")),  # noqa: E501
        (QuestionKind.CHANGE, ("o que preciso mudar para adicionar um formato?", "¿Qué hay que cambiar para añadir otro formato?",  # noqa: E501
                               "Was muss ich ändern, um ein neues Format hinzuzufügen?", "Que faut-il modifier pour ajouter un format ?",  # noqa: E501
                               "Что нужно изменить, чтобы добавить формат?", "要添加新格式，需要改哪些地方？", "新しい形式を追加するには何を変更すればいいですか")),  # noqa: E501
        (QuestionKind.CONSTANT, ("quantas tentativas há?", "¿Cuántos reintentos hay como máximo?", "Wie viele Versuche gibt es?", "Combien de tentatives ?",  # noqa: E501
                                 "Сколько попыток делается?", "最多重试多少次？", "リトライは最大いくつですか")),  # noqa: E501
    ],
)  # fmt: skip
def test_the_kind_is_recognised_in_every_language(kind: QuestionKind, texts: tuple[str, ...]) -> None:
    assert [text for text in texts if kind not in question_kinds(understand(text).wording)] == []


def test_the_type_is_read_from_the_translation() -> None:
    assert understand("Wo wird die Sitzung erstellt?").type is QueryType.LOCATION
    assert understand("Pourquoi ce routeur ?").type is QueryType.EXPLANATION
    assert understand("为什么会报错？").type is QueryType.BUG_FIX


def test_an_unknown_language_is_noted() -> None:
    query = understand("`open_session` 는 어디에서 호출되나요?")
    assert query.note.startswith("The question seems to be in Korean, which Cairn does not know")
    assert "open_session" in query.compounds
    assert understand("¿Dónde se llama a open_session?").note == ""


@pytest.mark.parametrize("file", [*BY_HAND.glob("*.txt"), *ALIGNED.glob("??.txt")], ids=str)
def test_every_line_of_a_list_has_distinct_words(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    entries = [line.partition("=") for line in lines if line and not line.startswith("#")]
    assert entries
    assert all(sign and words.strip() for _, sign, words in entries)
    for meaning, _, words in entries:
        spelled = [word.strip() for word in words.split(",")]
        assert all(spelled), meaning
        assert len(spelled) == len(set(spelled)), meaning
        assert meaning.isascii()


@pytest.mark.parametrize("code", sorted(file.stem for file in ALIGNED.glob("??.txt")))
def test_aligned_lists_lack_the_hand_written_words(code: str) -> None:
    by_hand, aligned = (read_lexicon(code, (folder,)).exact.keys() for folder in (BY_HAND, ALIGNED))
    assert by_hand & aligned == set()


def test_the_first_list_with_a_word_wins(tmp_path: Path) -> None:
    for folder, text in (("one", "key = clave\n"), ("other", "password = clave\nbadge = insignia\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "es.txt").write_text(text, encoding="utf-8")
    found = read_lexicon("es", (tmp_path / "one", tmp_path / "other"))
    assert [found.exact[word].words for word in ("clave", "insignia")] == [("key",), ("badge",)]


@pytest.mark.parametrize(
    ("code", "words", "meaning"),
    [
        ("es", ["conexiones"], "connection"),
        ("es", ["devuelven"], "return"),
        ("pt", ["conexoes"], "connection"),
        ("pt", ["erros"], "error"),
        ("de", ["aufzurufen"], "call"),
        ("de", ["Anfragegrößen"], "request size"),
        ("fr", ["renvoyées"], "return"),
        ("fr", ["mise", "en", "cache"], "cache"),
        ("ru", ["запросами"], "request"),
    ],
)
def test_inflected_words_are_known(code: str, words: list[str], meaning: str) -> None:
    found = lexicon(code).meaning(words)
    assert found is not None
    assert found.words[0] == meaning
