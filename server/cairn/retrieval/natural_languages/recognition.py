"""Recognise the language of a question by its script, or by function words if it is in Latin letters. The
default is English. Names, quotes and code are ignored. English sentences, such as a message, stay English."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from attrs import frozen

from cairn.retrieval.natural_languages.lexicon import lexicon
from cairn.retrieval.wording import is_common
from cairn.text.words import STOPWORDS, stem

_CERTAIN, _LIKELY = 2, 1
_ENOUGH = 2
_SHORTEST = 3
"""The maximum length of a word that many languages may have."""
_SHORT = 600
"""The maximum length of a text that is foreign if its first or last sentence is. A longer text is pasted."""


@frozen
class Language:
    name: str
    code: str = ""
    """The code of its word list; "" if Cairn has no word list for the language."""


@frozen
class Sentence:
    start: int
    end: int
    language: Language | None
    """The language of the sentence; None if it is English or unclear."""
    is_english: bool
    """Whether the sentence has English function words that outweigh those of any other language."""


# Each language has two lists: words of it alone, and words that code, names or other languages also have.
_FUNCTION_WORDS = {
    Language("Portuguese", "pt"): (
        """onde você vocês não são estão qual quais quando quê quem uma umas pelo pela pelos pelas até também
        isso isto esse esses essas estas explique explica descreva há já só nossa nosso às através quantos
        quantas aonde porquê funciona funcionam acontece fica ficam nenhum então faz fazem mostre está é
        como corrigir criar adicionar otimizar melhorar remover alterar implementar instalar encontrar fale
        resumo resumir""",
        """de da do dos das na nas no nos um em com sem por ao aos o os e a as seu sua que para entre se ou à
        ser tem serve porque quem este""",
    ),
    Language("Spanish", "es"): (
        """cómo qué dónde cuál cuáles cuándo quién quiénes cuánto cuántos cuántas unos está están también
        porqué desde hasta donde puede pueden debe tengo tiene hace hacen aunque según cada esto estos
        estas funciona funcionan sirve ocurre sucede muy hacia mientras cuando los hay así más dentro
        ningún ninguna adónde corregir crear añadir agregar optimizar mejorar eliminar cambiar""",
        """de la las en un una con sin por para se es lo al que su o como no si entre a ser me mis mi este
        esta ese el del y sus tras sobre antes porque explica""",
    ),
    Language("German", "de"): (
        """wie warum wieso weshalb wird werden welche welcher welches welchem welchen nicht und eine einen
        einem einer eines ist wenn dass kann können muss müssen ich für über wo woher zum zur beim vom von
        nach wurde wurden sind auf das oder aber durch ohne zwischen während sich kein keine worin wodurch
        wozu womit gibt obwohl bevor sobald mein meine meinem meiner macht passiert funktioniert wann aus
        beheben erstellen hinzufügen optimieren verbessern entfernen ändern""",
        """die der den dem des was er es im am ein in an um zu bei war so wer als hat man ja noch mit bis wir
        ihr""",
    ),
    Language("French", "fr"): (
        """pourquoi où quel quelle quels quelles une dans avec sont cette quand lorsque lorsqu depuis pendant
        après faut peut peuvent être était leur leurs mais chaque elle ils elles nous vous dois ça lors
        notre votre comme aussi afin quoi celui celle ceux fonctionne jusqu qu est corriger créer ajouter
        optimiser améliorer supprimer appelle appellent combien""",
        """le la les un des du de en au aux sur par pour il on se ne que qui son sa ce ces comment sans si ou
        et l d y avant fait pas je à là mon mes ses entre puis""",
    ),
    Language("Italian"): (
        """perché dove quale quali sono viene vengono della delle degli dello nella nelle gli cosa anche può
        possono questo questa quando così più è funziona""",
        "come di il la le lo un una per con in del dei da al si e non i se che",
    ),
    Language("Dutch"): (
        """hoe waarom waar welke welk wordt worden niet het een zijn moet wanneer deze voor naar maar ook mijn
        tussen zonder tijdens gebeurt werkt""",
        "de van en is in op met te om door als dat er of die wat kan bij aan uit",
    ),
    Language("Polish"): (
        """jak dlaczego gdzie który która które są się czy przez dla kiedy jaki jaka jakie żeby przed
        między podczas oraz działa""",
        "w z i o na do po za to od co nie jest",
    ),
    Language("Swedish"): ("hur varför vilken vilket vilka är inte och att från när för mellan utan fungerar", "en den det de i med om vad av på som"),  # noqa: E501
    Language("Danish or Norwegian"): ("hvordan hvorfor hvor hvilken hvilket hvilke og ikke når fra mellem mellom uten uden", "en et den det de i er av af på til"),  # noqa: E501
    Language("Finnish"): ("miten miksi missä mikä mitkä mitä kun jos joka ei tai ennen jälkeen", "on ja"),
    Language("Turkish"): ("nasıl neden nerede hangi nedir niçin bir için değil ile olarak şu arasında sonra önce", "ve ne da de bu mi"),  # noqa: E501
    Language("Hungarian"): ("hogyan miért hol melyik egy és nem vagy amikor között mielőtt után", "a az"),
    Language("Czech"): ("jak proč kde který která které jsou není když nebo mezi při před jaký jaké", "v z a na do se to je co"),  # noqa: E501
    Language("Romanian"): ("cum unde sunt nu și pentru din când între sau după înainte fără funcționează", "de la un o se pe in care este ce cu"),  # noqa: E501
    Language("Vietnamese"): ("thế nào tại sao đâu là gì của và không được khi trong các những hàm", "cho"),
    Language("Indonesian"): ("bagaimana mengapa kenapa dimana apa yang adalah dengan untuk tidak dari apakah ketika", "di ke dan saat"),  # noqa: E501
}  # fmt: skip
_COUNTS: dict[str, list[tuple[Language, int]]] = {}
for _language_of, _lists in _FUNCTION_WORDS.items():
    for _words, _count in zip(_lists, (_CERTAIN, _LIKELY), strict=True):
        for _word in set(_words.split()) - STOPWORDS:
            _COUNTS.setdefault(_word, []).append((_language_of, _count))
_CERTAIN_WORDS = {language: frozenset(lists[0].split()) for language, lists in _FUNCTION_WORDS.items()}
_SIGNS = {
    language: re.compile({"es": "[¿¡]", "de": "ß", "pt": "[ãõÃÕ]"}[language.code])
    for language in _FUNCTION_WORDS
    if language.code in ("es", "de", "pt")
}
"""Characters that only one of these languages uses. One such character counts like a certain word."""

CHINESE, JAPANESE, RUSSIAN = Language("Chinese", "zh"), Language("Japanese", "ja"), Language("Russian", "ru")
_SCRIPTS = (
    (re.compile("[\u3041-\u30ff\uff66-\uff9f]"), JAPANESE),
    (re.compile("[\u3400-\u9fff]"), CHINESE),
    (re.compile("[\uac00-\ud7af\u1100-\u11ff]"), Language("Korean")),
    (re.compile("[іїєґІЇЄҐ]"), Language("Ukrainian")),
    (re.compile("[ђјљњћџЂЈЉЊЋЏ]"), Language("Serbian")),
    (re.compile("[\u0400-\u04ff]{2}"), RUSSIAN),
    (re.compile("[\u0621-\u06ff]{2}"), Language("Arabic or Persian")),
    (re.compile("[\u05d0-\u05ea]{2}"), Language("Hebrew")),
    (re.compile("[\u0e01-\u0e5b]{2}"), Language("Thai")),
    (re.compile("[\u0e80-\u0eff]{2}"), Language("Lao")),
    (re.compile("[\u1000-\u109f]{2}"), Language("Burmese")),
    (re.compile("[\u1780-\u17ff]{2}"), Language("Khmer")),
    (re.compile("[\u0900-\u097f]{2}"), Language("Hindi")),
    (re.compile("[\u0980-\u09ff]{2}"), Language("Bengali")),
    (re.compile("[\u0b80-\u0bff]{2}"), Language("Tamil")),
    (re.compile("[\u0370-\u03ff]{4}"), Language("Greek")),
)
"""The first match decides: Japanese also has Chinese characters, and Ukrainian most Russian letters."""
_LETTER = re.compile(r"[^\W\d_]")
_MOSTLY = 0.2
"""The minimum share of non-ASCII letters in a foreign sentence with English words. It is low for Chinese."""

UNTRANSLATED = re.compile(
    r"""(?<!`)`++[^`]+`+ | "[^"]*" | “[^”]*” | (?<!\w)'[^'\n]{2,80}'(?!\w) | https?://[^\s\u3000-\uffef]+
        | (?<![A-Za-z_@$#.])[@$#.]*+[A-Za-z_]\w*(?:(?:::|[./\\:\#]|->)[\w*]+)+(?:\(\))? | /[\w./*-]+
        | (?<!\w)\w*[A-Za-z0-9]_\w* | _+[A-Za-z]\w* | (?<!\w)\w*\d\w* | \b\w+\(\) | \b[a-z]+[A-Z]\w* | \b[A-Z]{2,}s?\b | \b[A-Z][a-z]+[A-Z]\w*""",  # noqa: E501
    re.VERBOSE | re.ASCII,
)
"""Matches quotes, paths, and names that are clearly code. These belong to no language."""
_CAPITALISED = re.compile(r"(?<=[^\W\d_] )[A-ZÀ-Þ]\w*")
_SENTENCE_END = re.compile(r"(?<![.?!:;])[.?!:;]++(?=\s|\Z)|[\n。？！；：…]")
_WORD = re.compile(r"[^\W\d_]+")


def sentences(text: str) -> tuple[Language | None, tuple[Sentence, ...]]:
    """Return the language of the question and its sentences; None and no sentences if it is English."""
    if not _may_be_foreign(text):
        return None, ()
    masked = UNTRANSLATED.sub(lambda match: " " * len(match.group()), text)
    found = tuple(_read(masked))
    counts: Counter[Language] = Counter()
    for each in found:
        if each.language:
            counts[each.language] += each.end - each.start
    if not counts:
        return None, ()
    language, most = counts.most_common(1)[0]
    english = sum(each.end - each.start for each in found if each.is_english)
    ends = {found[0].language, found[-1].language}
    if most < english and (language not in ends or len(text) > _SHORT):
        return None, ()
    return language, found


ENGLISH = STOPWORDS - set("a am an as at by do he i in is it me no of off on or so to was we".split())
"""English function words that are no words of other languages."""


def _may_be_foreign(text: str) -> bool:
    """Return whether `text` has enough foreign words to look at each sentence. Most questions do not."""
    if not text.isascii():
        return True
    counts = _counts(text)
    return bool(counts) and (
        max(counts.values()) >= _ENOUGH or ENGLISH.isdisjoint(_WORD.findall(text.lower()))
    )


def _counts(text: str) -> Counter[Language]:
    """Count the distinct function words of each language. Single letters alone do not count."""
    counts: Counter[Language] = Counter()
    spelled: set[Language] = set()
    for word in _COUNTS.keys() & set(_WORD.findall(text.lower())):
        for language, count in _COUNTS[word]:
            counts[language] += count
            if len(word) > 1:
                spelled.add(language)
    return Counter({language: count for language, count in counts.items() if language in spelled})


def _with_known_words(text: str, counts: Counter[Language]) -> Counter[Language]:
    """Return the counts with the words that the lists of the likely languages know, if function words alone
    do not decide. A noun phrase often has only one, such as "de"."""
    ranked = counts.most_common()
    likely = [language for language, count in ranked if language.code and count >= ranked[0][1] - 1]
    if not likely or (ranked[0][1] >= _ENOUGH and (len(likely) == 1 or not ranked[0][0].code)):
        return counts
    words = {word for word in _WORD.findall(text) if word.lower() not in _COUNTS.keys() | STOPWORDS}
    foreign = [word for word in words if not is_common(stem(word.lower()))]
    if ranked[0][1] >= _ENOUGH:
        return counts + Counter({each: sum(_is_known(word, each) for word in foreign) for each in likely})
    # The text may still be English, so words that look like their English meaning do not count.
    known = {each: sum(_is_known(word, each, is_unlike=True) for word in foreign) for each in likely}
    fewest = max(len(foreign) / 2, len(words) - len(foreign) + 1)
    return counts + Counter({each: count for each, count in known.items() if count >= fewest})


def _is_known(word: str, language: Language, *, is_unlike: bool = False) -> bool:
    """Return whether the list of the language has the word, with `is_unlike` with a meaning unlike it."""
    found = lexicon(language.code).meaning([word]) if len(word) > _SHORTEST else None
    if not found or not found.words:
        return False
    return not (is_unlike and word.isascii() and found.words[0].startswith(word[:_SHORTEST].lower()))


def _read(masked: str) -> Iterator[Sentence]:
    start = checked = 0
    for end in (*(match.end() for match in _SENTENCE_END.finditer(masked)), len(masked)):
        if _LETTER.search(masked, checked, end):
            yield Sentence(start, end, *_language(masked[start:end]))
            start = end
        checked = end


def _language(sentence: str) -> tuple[Language | None, bool]:
    english = len(ENGLISH & set(_WORD.findall(sentence.lower())))
    for script, language in _SCRIPTS:
        if script.search(sentence):
            letters = _LETTER.findall(sentence)
            is_other = not english or sum(not each.isascii() for each in letters) >= _MOSTLY * len(letters)
            return (language, False) if is_other else (None, True)
    spoken = _CAPITALISED.sub("", sentence)
    counts = _counts(spoken)
    signs = {language: _CERTAIN for language, sign in _SIGNS.items() if sign.search(spoken)}
    counts.update(signs)
    if not english:
        counts = _with_known_words(spoken, counts)
    # If two languages have the same count, one with a word list is preferred.
    best = max(
        counts, key=lambda language: (counts[language], bool(language.code), language.name), default=None
    )
    if best is None or counts[best] < _ENOUGH or counts[best] <= english:
        return None, english > 0
    is_certain = best in signs or not _CERTAIN_WORDS[best].isdisjoint(_WORD.findall(spoken.lower()))
    return (best, False) if is_certain or not english else (None, True)
