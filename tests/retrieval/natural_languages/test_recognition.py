"""The language of a question is recognised."""

from __future__ import annotations

import pytest

from cairn.retrieval.natural_languages.recognition import sentences


def language(text: str) -> str:
    found, _ = sentences(text)
    return found.name if found else ""


@pytest.mark.parametrize(
    "text",
    [
        "how do I install it",
        "no timeout",
        "connect to a websocket",
        "sign in with an OAuth provider",
        "what does the comment say",
        "come to the die, was man in so on",
        "mit license",
        "where is São Paulo in the time zone table",
        "Müller's tokenizer",
        'what prints "Wie wird die Datei gelesen?"',
        "where is `wird_nicht` defined",
        "how does 中间件 work and where is it registered",
        "the μs timer",
        "def get(self, o, e): return die.das(o)",
        "add de la Cruz to the list of authors",
        "for x in y: print(x)",
        "update man page",
        "jest extend matchers",
        "load es module",
        "escape os",
        "remove obsolete comment",
        "aux copy defines",
        "",
    ],
)
def test_english_is_not_mistaken_for_another_language(text: str) -> None:
    assert language(text) == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Onde a sessão é criada?", "Portuguese"),
        ("como instalar", "Portuguese"),
        ("listagem de diretório no navegador", "Portuguese"),
        ("miniaturas das imagens baixadas", "Portuguese"),
        ("¿Dónde se cierra la conexión?", "Spanish"),
        ("donde se cierra la conexion", "Spanish"),
        ("Wo wird die Verbindung geschlossen?", "German"),
        ("wo wird die verbindung geschlossen", "German"),
        ("Où la connexion est-elle fermée ?", "French"),
        ("Comment fonctionne le routeur ?", "French"),
        ("Где закрывается соединение?", "Russian"),
        ("连接在哪里关闭？", "Chinese"),
        ("中间件", "Chinese"),
        ("接続はどこで閉じられますか", "Japanese"),
        ("연결은 어디에서 닫히나요?", "Korean"),
        ("Де закривається з'єднання і чому?", "Ukrainian"),
        ("أين يتم إغلاق الاتصال؟", "Arabic or Persian"),
        ("Πού κλείνει η σύνδεση;", "Greek"),
        ("Gdzie jest zamykane połączenie i dlaczego?", "Polish"),
        ("Dove viene chiusa la connessione?", "Italian"),
        ("Waar wordt de verbinding gesloten?", "Dutch"),
        ("Bağlantı nerede ve nasıl kapatılır?", "Turkish"),
    ],
)
def test_script_or_function_words_show_the_language(text: str, name: str) -> None:
    assert language(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Fehler beim Start: The session has a scope, it cannot depend on that. Warum?", "German"),
        ("报错：The session has a scope, it cannot depend on that. 为什么？", "Chinese"),
        ("The session has a scope of its own. Why? Warum?" + " It is what it is, and it was so." * 30, ""),
    ],
)
def test_an_english_message_does_not_hide_the_language(text: str, name: str) -> None:
    assert language(text) == name
