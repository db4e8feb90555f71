"""Text in many encodings is read as it was written, above all a single short comment among code."""

from __future__ import annotations

import random
import time

import pytest

from cairn.text.decoding import decoded

PROSE = {
    "ja": (
        "shift_jis cp932 euc_jp",
        "渡し船は毎朝六時に港を出て、対岸の村まで約三十分で到着します。天候が悪いときは、事前に時刻表を確認してください。",
    ),
    "zh": (
        "gbk gb18030",
        "渡船每天早上六点离开港口，大约三十分钟后到达对岸的村庄。天气不好的时候可能会停航，请提前查看时刻表。",
    ),
    "zh-TW": (
        "big5",
        "渡船每天早上六點離開港口，大約三十分鐘後到達對岸的村莊。天氣不好的時候可能會停航，請提前查看時刻表。",
    ),
    "ko": (
        "euc_kr cp949",
        "나룻배는 매일 아침 여섯 시에 항구를 떠나 약 삼십 분 뒤에 건너편 마을에 도착합니다.",
    ),
    "ru": ("koi8_r cp1251", "Паром уходит из гавани каждый день в шесть часов утра. Проверьте расписание."),
    "uk": ("cp1251", "Пором відходить з гавані щодня о шостій годині ранку. Перевірте розклад."),
    "bg": ("cp1251", "Фериботът тръгва от пристанището всяка сутрин в шест часа."),
    "de": (
        "latin_1 cp1252",
        "Die Fähre verlässt den Hafen jeden Morgen und erreicht das Dorf später, über Mölln.",
    ),
    "fr": (
        "latin_1 cp1252",
        "Le bac quitte le port chaque matin à six heures ; la traversée, annulée l'été, coûte.",
    ),
    "es": ("cp1252", "El transbordador llegará al pueblo después de unos treinta minutos, mañana o el año…"),
    "it": (
        "latin_1 cp1252",
        "Il traghetto partirà più tardi, perché la città non è lontana e così sarà facile.",
    ),
    "pt": ("latin_1", "A balsa não está vazia; a atualização da função de validação já existe."),
    "sv": ("latin_1", "Färjan lämnar hamnen varje morgon och når byn på andra sidan efter trettio minuter."),
    "pl": ("iso8859_2", ""),
}
SHORT = {
    "ja": "渡し船を係留する|接続を閉じる前に待つ|エラーを返す|キャッシュを消去|データベースに保存",
    "zh": "停泊渡船的函数|关闭连接前等待|读取配置文件|返回错误信息|检查用户名是否为空|保存到数据库",
    "zh-TW": "停泊渡船的函式|關閉連線前等待|讀取設定檔案|傳回錯誤訊息|檢查使用者名稱是否為空|儲存到資料庫",
    "ko": "나룻배를 정박한다|연결을 닫기 전에 대기|설정 파일을 읽는다|오류를 반환|캐시를 지운다",
    "ru": "швартовка парома|закрыть соединение|вернуть ошибку|очистить кэш|ОСТАНОВИТЬ ПАРОМ",
    "uk": "швартування порома|закрити з'єднання|повернути помилку|очистити кеш|зберегти в базу",
    "bg": "акостиране на ферибот|затвори връзката|връща грешка|изчисти кеша",
    "de": "Fähre anlegen|Verbindung schließen|größe|für später|Rückgabe|Übergabe",
    "fr": "où est le bac|fermé|vérifie le préfixe|renvoie à l'appelant|été|clé étrangère",
    "es": "¿está vacío?|año|cerrar la conexión|contraseña|también|¡peligro!",
    "it": "è già aperto|proprietà|perché vuoto|unità|non è più così",
    "pt": "não está|ação|conexão|usuário|à espera",
    "sv": "förtöj färjan|på väg|är den tom?|gör ingenting|nästa",
    "pl": "błąd ścieżki|wartość|położenie|włączenie",
}
WESTERN = {"de", "fr", "es", "it", "pt", "sv"}
CODE = (
    "#include <stdio.h>\n\n/* {} */\nstatic int next(int count)\n{{\n    return count + 1; /* ready */\n}}\n"
)
FILES = [
    (language, codec, text)
    for language, (codecs, prose) in PROSE.items()
    for codec in codecs.split()
    for text in (
        *([f"{prose}\n"] if prose else []),
        *(f"// {comment}\nint moor_ferry() {{ return 0; }}\n" for comment in SHORT[language].split("|")),
        *(CODE.format(comment) for comment in SHORT[language].split("|")),
    )
]
NAMES = {
    "shift_jis": "Shift-JIS", "cp932": "Shift-JIS", "euc_jp": "EUC-JP", "gbk": "GB18030",
    "gb18030": "GB18030", "big5": "Big5", "euc_kr": "EUC-KR", "cp949": "EUC-KR",
    "koi8_r": "KOI8-R", "cp1251": "Windows-1251",
}  # fmt: skip


def test_the_samples_are_many() -> None:
    assert len(FILES) > 200
    assert len({language for language, _, _ in FILES}) >= 10


@pytest.mark.parametrize(("language", "codec"), dict.fromkeys((each[0], each[1]) for each in FILES))
def test_files_are_read_as_they_were_written(language: str, codec: str) -> None:
    texts = [text for each, used, text in FILES if (each, used) == (language, codec)]
    for text in texts:
        data = text.encode(codec)
        found = decoded(data)
        assert found is not None
        if language == "pl":  # Encodings of Central Europe are read as Latin-1.
            assert found.text == data.decode("latin-1")
            continue
        assert found.text == text
        name = "Windows-1252" if "…" in text else "Latin-1"
        assert found.encoding == f"{name if language in WESTERN else NAMES[codec]}, guessed"


@pytest.mark.parametrize("codec", NAMES)
def test_a_comment_after_much_ascii_is_recognized(codec: str) -> None:
    language = next(each for each, used, _ in FILES if used == codec)
    comment = SHORT[language].split("|")[0]
    text = "int ascii_only(void) { return 1; }\n" * 4_000 + f"/* {comment} */\n" + "y = 2;\n" * 9_000
    found = decoded(text.encode(codec))
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(
    ("codec", "name", "text"),
    [
        (
            "iso8859_7",
            "ISO-8859-7",
            "το πλοίο φεύγει από το λιμάνι κάθε πρωί στις έξι και φτάνει στο χωριό. Άλλο",
        ),
        (
            "cp1255",
            "Windows-1255",
            "המעבורת יוצאת מהנמל בכל בוקר בשעה שש ומגיעה לכפר שבגדה השנייה אחרי שלושים דקות",
        ),
        (
            "cp1256",
            "Windows-1256",
            "تغادر العبارة الميناء كل صباح في الساعة السادسة وتصل إلى القرية بعد ثلاثين دقيقة",
        ),
        ("cp874", "CP874", "เรือข้ามฟากออกจากท่าเรือทุกเช้าเวลาหกโมงและถึงหมู่บ้านอีกฝั่งหลังจากสามสิบนาที"),
    ],
)
def test_longer_text_of_other_alphabets_is_recognized(codec: str, name: str, text: str) -> None:
    found = decoded(f"# {text}\nx = 1\n".encode(codec))
    assert found is not None
    assert (found.text, found.encoding) == (f"# {text}\nx = 1\n", f"{name}, guessed")


def test_a_declared_encoding_is_used() -> None:
    text = "# -*- coding: iso-8859-2 -*-\n# błąd ścieżki\nx = 1\n"
    found = decoded(text.encode("iso8859_2"))
    assert found is not None
    assert (found.text, found.encoding) == (text, "ISO-8859-2, as it says")


@pytest.mark.parametrize("declared", ["big5", "cp037", "punycode", "unicode_escape", "rot13", "nonsense"])
def test_a_wrong_declaration_is_ignored(declared: str) -> None:
    text = f"# coding: {declared}\n# вернуть ошибку, если пусто\nx = 1\n"
    found = decoded(text.encode("cp1251"))
    assert found is not None
    assert found.text == text


def test_binary_data_without_a_nul_stays_latin_1() -> None:
    source = random.Random(7)
    for size in (60, 300, 4_000, 70_000):
        data = bytes(source.choice(range(1, 256)) for _ in range(size))
        found = decoded(data)
        assert found is not None
        assert (found.text, found.encoding) == (data.decode("latin-1"), "Latin-1, guessed")


def test_a_large_file_is_read_in_bounded_time() -> None:
    lines = [
        "渡し船\n".encode("cp932"), "渡船每天早上六点离开港口".encode("gb18030"), b"\xe9\n", b"\xe9",
        b"\x81\xff ", b"abcdefgh",
    ]  # fmt: skip
    for line in lines:
        data = b"\xe9" + line * (1_000_000 // len(line))
        began = time.process_time()
        first = decoded(data)
        assert time.process_time() - began < 2
        assert first == decoded(data)


def test_a_bad_byte_does_not_change_the_encoding() -> None:
    text = "".join(f"// {comment}\n" for comment in SHORT["ja"].split("|"))
    for codec in ("utf-8", "cp932"):
        data = text.encode(codec) + b"\xff\n"
        found = decoded(data)
        assert found is not None
        assert found.text.startswith(text)
        assert found.text.count("\n") == data.count(b"\n")
