"""Recognise secrets in the content of files with data or settings.

Formats of tokens are facts that their issuers publish; docs/sources.md names the lists that were consulted.
Each pattern takes time linear in the text, also in hostile text.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from collections.abc import Iterator

from cairn.workspace.secret_paths import Suspicion, suspicion

_ALNUM, _HEX = "A-Za-z0-9", "a-f0-9"
_PREFIXES = (
    ("AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}", "an AWS key"),
    ("ABSK", "[A-Za-z0-9+/]{100,300}", "an AWS key"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", f"[{_ALNUM}]{{36,255}}", "a GitHub token"),
    ("github_pat_", r"\w{50,255}", "a GitHub token"),
    ("glpat- gldt- glrt- glrtr- glcbt- glptt- glft-", r"[\w.-]{20,300}", "a GitLab token"),
    ("glsoat- glagent- gloas- glimt-", r"[\w.-]{20,300}", "a GitLab token"),
    (
        "xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.",
        f"(?:xox[bp]-)?\\d[{_ALNUM}-]{{9,300}}",
        "a Slack token",
    ),
    ("xapp-", f"\\d-[{_ALNUM}-]{{20,300}}", "a Slack token"),
    ("hooks.slack.com/", f"(?:services|workflows|triggers)/[{_ALNUM}/]{{20,200}}", "a Slack webhook"),
    (
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        r"\d{17,20}/[\w-]{40,100}",
        "a Discord webhook",
    ),
    ("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", f"[{_ALNUM}]{{16,247}}", "a Stripe key"),
    ("whsec_", "[A-Za-z0-9+/]{32,100}", "a Stripe key"),
    ("AIza", r"[\w-]{35}", "a Google key"),
    ("ya29.", r"[\w-]{20,500}", "a Google token"),
    ("GOCSPX-", r"[\w-]{28}", "a Google secret"),
    ("1//0", r"[\w-]{40,200}", "a Google token"),
    ("npm_", f"[{_ALNUM}]{{36}}", "an npm token"),
    ("pypi-AgE", r"[\w-]{50,1000}", "a PyPI token"),
    ("rubygems_", f"[{_HEX}]{{48}}", "a RubyGems key"),
    ("oy2", "[a-z0-9]{43}", "a NuGet key"),
    ("cio", f"[{_ALNUM}]{{32}}", "a crates.io token"),
    ("dckr_pat_ dckr_oat_", r"[\w-]{27,100}", "a Docker token"),
    ("AKCp", f"[{_ALNUM}]{{60,80}}", "an Artifactory key"),
    ("cmVmdGtu", f"[{_ALNUM}]{{50,70}}", "an Artifactory token"),
    ("sk-ant-", r"[a-z]{3,8}\d\d-[\w-]{20,200}", "an Anthropic key"),
    ("sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,300}", "an OpenAI key"),
    ("sk-or-v1-", f"[{_HEX}]{{64}}", "an OpenRouter key"),
    ("sk-", f"(?:[{_ALNUM}]{{48}}|[{_HEX}]{{32}})", "an OpenAI key"),
    ("hf_", f"[{_ALNUM}]{{30,60}}", "a Hugging Face token"),
    ("gsk_", f"[{_ALNUM}]{{48,60}}", "a Groq key"),
    ("r8_", f"[{_ALNUM}]{{37}}", "a Replicate token"),
    ("pplx-", f"[{_ALNUM}]{{40,60}}", "a Perplexity key"),
    ("xai-", f"[{_ALNUM}]{{70,90}}", "an xAI key"),
    ("lsv2_pt_ lsv2_sk_", f"[{_HEX}]{{32}}_[{_HEX}]{{10}}", "a LangSmith key"),
    ("nvapi-", r"[\w-]{60,80}", "an NVIDIA key"),
    ("tvly-", r"[\w-]{24,60}", "a Tavily key"),
    ("pcsk_", r"\w{50,90}", "a Pinecone key"),
    ("SK", f"[{_HEX}]{{32}}", "a Twilio key"),
    ("SG.", r"[\w-]{16,32}\.[\w-]{30,64}", "a SendGrid key"),
    ("xkeysib-", rf"[{_HEX}]{{64}}-\w{{16}}", "a Brevo key"),
    ("key-", f"[{_HEX}]{{32}}", "a Mailgun key"),
    ("re_", rf"[{_ALNUM}]{{8}}_[{_ALNUM}]{{20,30}}", "a Resend key"),
    ("dop_v1_ doo_v1_ dor_v1_", f"[{_HEX}]{{64}}", "a DigitalOcean token"),
    ("dapi", f"[{_HEX}]{{32}}", "a Databricks token"),
    ("hvs. hvb. hvr.", r"[\w-]{24,300}", "a Vault token"),
    ("ATATT3 ATCTT3", r"[\w=-]{60,250}", "an Atlassian token"),
    ("ATBB", f"[{_ALNUM}]{{32}}", "an Atlassian token"),
    ("shpat_ shpca_ shppa_ shpss_", "[a-fA-F0-9]{32}", "a Shopify token"),
    ("sq0atp- sq0csp- sq0idp-", r"[\w-]{22,60}", "a Square token"),
    ("EAAC EAAM", f"[{_ALNUM}]{{90,300}}", "a Facebook token"),
    ("glsa_", f"[{_ALNUM}]{{32}}_[{_HEX}]{{8}}", "a Grafana token"),
    ("glc_eyJ", "[A-Za-z0-9+/]{30,400}", "a Grafana token"),
    ("NRAK-", "[A-Z0-9]{27}", "a New Relic key"),
    ("sntrys_eyJ", r"[\w+/=]{30,400}", "a Sentry token"),
    ("sntryu_", f"[{_HEX}]{{64}}", "a Sentry token"),
    ("dt0c01. dt0s01. dt0s02.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}", "a Dynatrace token"),
    ("fo1_", r"[\w-]{43}", "a Fly token"),
    ("fm2_ fm1r_ fm1a_", "[A-Za-z0-9+/]{100,500}", "a Fly token"),
    ("HRKU-", r"[\w-]{36,100}", "a Heroku key"),
    ("nfp_", f"[{_ALNUM}]{{36,60}}", "a Netlify token"),
    ("sbp_", f"[{_HEX}]{{40}}", "a Supabase token"),
    ("sb_secret_", r"[\w-]{20,60}", "a Supabase key"),
    ("pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w.=-]{32,64}", "a PlanetScale password"),
    ("dp.pt. dp.st. dp.ct. dp.sa.", f"[{_ALNUM}.]{{40,60}}", "a Doppler token"),
    ("pul-", f"[{_HEX}]{{40}}", "a Pulumi token"),
    ("v1.0-", f"[{_HEX}]{{24}}-[{_HEX}]{{146}}", "a Cloudflare key"),
    ("sha256~", r"[\w-]{43}", "an OpenShift token"),
    ("lin_api_", f"[{_ALNUM}]{{40}}", "a Linear key"),
    ("ntn_", f"[{_ALNUM}]{{40,60}}", "a Notion token"),
    ("figd_", r"[\w-]{40}", "a Figma token"),
    ("PMAK-", f"[{_HEX}]{{24}}-[{_HEX}]{{34}}", "a Postman key"),
    ("bkua_", f"[{_HEX}]{{40}}", "a Buildkite token"),
    ("CCIPAT_", rf"\w{{22}}_[{_HEX}]{{40}}", "a CircleCI token"),
    ("squ_ sqp_ sqa_", f"[{_HEX}]{{40}}", "a SonarQube token"),
    ("ops_eyJ", r"[\w-]{200,1000}", "a 1Password token"),
    ("tskey-", r"[a-z]+-[\w-]{20,80}", "a Tailscale key"),
    ("CLOJARS_", "[a-z0-9]{60}", "a Clojars token"),
    ("cairn_", r"[\w-]{43}", "a token of Cairn"),
    ("AGE-SECRET-KEY-1", "[A-Z0-9]{58}", "an age key"),
    ("AccountKey= SharedAccessKey=", "[A-Za-z0-9+/]{40,90}=", "an Azure key"),
    ("bedrock-api-key-", "[A-Za-z0-9+/]{40,2000}", "an AWS key"),
)
"""Prefixes of tokens, the pattern of the rest, and what the token is."""
_WEB_TOKEN = "a JSON Web Token"
_OTHERS = (
    ("Q~", r"[\w.~-]{3}[78]Q~[\w.~-]{31,34}", "an Azure secret"),
    (".atlasv1.", rf"[{_ALNUM}]{{14}}\.atlasv1\.[\w-]{{60,70}}", "a Terraform token"),
    (":AA", r"\d{8,10}:AA[\w-]{33}", "a Telegram token"),
    ("-us", rf"[{_HEX}]{{32}}-us\d{{1,2}}", "a Mailchimp key"),
    (".webhook.office.com/", r"\.webhook\.office\.com/webhookb2/[\w@-]{40,200}", "a Teams webhook"),
    ("sig=", r"[?&;]sig=[A-Za-z0-9%]{43,60}%3D", "a signed URL"),
    ("pat", rf"pat[{_ALNUM}]{{14}}\.[{_HEX}]{{64}}", "an Airtable token"),
    (".eyJ", r"eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{20,1000}", _WEB_TOKEN),
    ("T3BlbkFJ", rf"sk-[{_ALNUM}]{{20}}T3BlbkFJ[{_ALNUM}]{{20}}", "an OpenAI key"),
)
"""Text that each token of a kind contains, the pattern of the token, and what it is."""
_TOKENS = [
    (mark, re.compile(rf"(?<![{_ALNUM}+]){pattern}(?![{_ALNUM}])"), label)
    for mark, pattern, label in (
        *(
            (mark, re.escape(mark) + rest, label)
            for marks, rest, label in _PREFIXES
            for mark in marks.split()
        ),
        *_OTHERS,
    )
]
"""Each pattern is preceded by a search for fixed text, which takes a hundredth of the time."""
_SHORTEST = 16
"""Words shorter than this contain no token."""
_FEWEST_CHARACTERS = 8
"""A random token has more different characters than this."""

_URL = re.compile(r"://[^\s/:@\"'<>]{0,60}:(?P<password>[^\s/@\"'<>]{3,120})@(?P<host>[\w.-]+)")
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:\\[rn]|[\s\"'+,\\]){1,200}+(?:[A-Za-z-]{1,20}: [^\n\\]{0,80})?){1,9}[A-Za-z0-9+/=]{20}"
)
_KEY_BLOCK_IN_BASE64 = "LS0tLS1CRUdJTi"
_CERTIFICATE_IN_BASE64 = "LS0tLS1CRUdJTiBDRV"
_WIREGUARD = re.compile(r"^[ \t]*(?:PrivateKey|PresharedKey)[ \t]*=[ \t]*[A-Za-z0-9+/]{43}=", re.MULTILINE)
_JSON_WEB_KEY = re.compile(r"[\"']d[\"'][ ]?:[ ]?[\"'][\w-]{32,2000}[\"']")
_REGISTRY_LOGIN = re.compile(r"\"auth\"\s{0,9}:\s{0,9}\"([A-Za-z0-9+/]{8,400}=*)\"")
_ENCRYPTED = "$ANSIBLE_VAULT;"
"""The first characters of a file whose text is encrypted, and useless in an index."""

_ASSIGNED = re.compile(
    r"(?:pass(?:w(?:or)?d|phrase|code)?|passwd|pwd|secret|(?<!publickey)token|credentials?|_auth|authorization"
    r"|(?:api|access|auth|private|secret|signing|encryption|account|storage)[-_]?key(?:[-_]?base)?)"
    r"(?:[-_.]?(?:\d{1,3}|prod|production|live|value))?"
    r"(?:[\"']?[ \t]{0,9}(?:=>|:=|[:=>])[ \t]{0,20}|[\"'][ \t]{1,9}value[ \t]?=[ \t]?)"
    r"[\"']?(?:(?:basic|bearer|token)[ \t]+[\"']?)?(?P<value>[^\s\"'<>,;&`)]{4,300})"
)
"""A value that is assigned to a password or the like. It is searched for in lower case."""
_PLACEHOLDER = re.compile(
    r"example|sample|placeholder|dummy|fake|redact|change[-_ ]?(?:me|it|this)|replace|your|xxxx|\*\*\*"
    r"|\.\.\.|todo[-_]|insert|notreal|insecure|\$\{|\{\{|\$\(|%\(|%[\w.]+%|<|#\{|\w\(|\\u[0-9a-f]{4}",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"[$%{(\[@!&*|>/~]|\.[A-Z]|(?:env|file|vault|op|ssm|arn|ref|classpath|https?|enc)[:(\[]", re.IGNORECASE
)
"""The beginning of a value that is found elsewhere."""
_WORDS = re.compile(r"(?:[A-Za-z]+|\d{1,4}|[A-Za-z]\d{1,2})(?:[-_./:](?:[A-Za-z]+|\d{1,4}|[A-Za-z]\d{1,2}))*")
_OF_SECRETS = re.compile(r"pass|secret|token|key|cred|user|name|path|file|crt|pem", re.IGNORECASE)
_USUAL_WORDS = frozenset(
    """
    admin administrator always apikey basic bearer changeit default disabled empty enabled encrypted guest
    hidden keycloak minio mysql never on_create optional postgres public rabbitmq randalphanum required string
    testing undefined unknown username
    """.split()
)
"""Words that settings and tests assign to passwords."""

_SECRET_RESOURCE = re.compile(r"^[ \t]*(?:- )?kind:[ \t]*[\"']?Secret[\"']?[ \t\r]*$", re.MULTILINE)
_RESOURCE_DATA = re.compile(
    r"^(?P<indent>[ \t]*)data:[ \t]*\r?\n(?P<entries>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z))+)", re.MULTILINE
)
_ENTRY = re.compile(r":[ \t]+(?:\|[-+]?[ \t]*\r?\n[ \t]+)?[\"']?(?P<value>[A-Za-z0-9+/]{4,}=*)")


def find_secret(path: str, text: str) -> str:
    """Return where the file at `path` contains a secret and of which kind, "" if none is found."""
    at, kind = next(_secrets(text, suspicion(path)), (0, ""))
    return kind and f"line {text.count(chr(10), 0, at) + 1} has {kind}"


def has_token(text: str) -> bool:
    """Return whether the text contains a token of a known kind."""
    return any(True for _ in _tokens(text, Suspicion.WEAK))


def _tokens(text: str, level: Suspicion) -> Iterator[tuple[int, str]]:
    if not (words := _long_words(text)):
        return
    for mark, token, kind in _TOKENS:
        if mark in words and (level > Suspicion.SAMPLE or kind is not _WEB_TOKEN):
            for match in token.finditer(words):
                if not _PLACEHOLDER.search(match[0]) and len(set(match[0].lower())) > _FEWEST_CHARACTERS:
                    yield text.find(match[0]), kind


def _long_words(text: str) -> str:
    return "\n".join(word for word in text.split() if len(word) >= _SHORTEST)


def _secrets(text: str, level: Suspicion) -> Iterator[tuple[int, str]]:
    """Yield the offset and kind of each secret, those that are found fast first."""
    if level is Suspicion.NONE:
        return
    yield from _tokens(text, level)
    if level is Suspicion.SAMPLE:
        return
    if text.startswith(_ENCRYPTED):
        yield 0, "encrypted secrets"
    yield from ((at, "a private key") for at in _private_keys(text))
    if "://" in text and "@" in text:
        for match in _URL.finditer(text):
            if "." in match["host"] and is_password(match["password"]) and _is_elsewhere(match["host"]):
                yield match.start(), "a URL with a password"
    if '"auth"' in text and (found := _REGISTRY_LOGIN.search(text)) and ":" in _decoded(found[1]):
        yield found.start(), "the login of a registry"
    if "Secret" in text and _SECRET_RESOURCE.search(text):
        level = Suspicion.STRONG
        yield from ((at, "the data of a Secret") for at in _resource_data(text))
    yield from ((at, "a password or key") for at in _passwords(text, level))


def _private_keys(text: str) -> Iterator[int]:
    if "PRIVATE KEY" in text and (match := _KEY_BLOCK.search(text)):
        yield match.start()
    at = text.find(_KEY_BLOCK_IN_BASE64)
    while at >= 0:
        if _KEY_BLOCK.search(_decoded(text[at : at + 400])):
            yield at
        at = text.find(_KEY_BLOCK_IN_BASE64, at + 1)
    if ("PrivateKey" in text or "PresharedKey" in text) and (match := _WIREGUARD.search(text)):
        yield match.start()
    if "kty" in text and (match := _JSON_WEB_KEY.search(text)):
        yield match.start()


def _resource_data(text: str) -> Iterator[int]:
    """Yield where a Kubernetes resource of the kind Secret has data in base64, other than certificates."""
    start = 0
    for resource in re.split(r"(?m)^(?=---)", text):
        if _SECRET_RESOURCE.search(resource):
            for data in _RESOURCE_DATA.finditer(resource):
                for entry in _ENTRY.finditer(data["entries"]):
                    value = entry["value"]
                    if not value.startswith(_CERTIFICATE_IN_BASE64) and is_password(_decoded(value)):
                        yield start + data.start("entries") + entry.start()
        start += len(resource)


def _passwords(text: str, level: Suspicion) -> Iterator[int]:
    lowered = text.lower()
    if len(lowered) != len(text):  # A few letters have two characters in lower case.
        text = lowered
    for match in _ASSIGNED.finditer(lowered):
        value = text[slice(*match.span("value"))]
        if is_password(value) if level is Suspicion.STRONG else is_random(value):
            yield match.start()


def is_password(value: str) -> bool:
    """Return whether a value that is assigned to a password may be one: neither a placeholder nor a name."""
    if len(value) < 6 or len(set(value)) < 4 or value.lower() in _USUAL_WORDS:
        return False
    if _REFERENCE.match(value) or _PLACEHOLDER.search(value):
        return False
    # Names, such as `certs/server.key` and `my-password`, consist of words.
    return not (_WORDS.fullmatch(value) and (_OF_SECRETS.search(value) or not value.isalnum()))


def is_random(value: str) -> bool:
    """Return whether a value that is assigned to a password is so random that it is probably a real one."""
    if len(value) < 16 or not is_password(value) or _WORDS.fullmatch(value):
        return False
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
    return 2 <= sum(map(str.isdigit, value)) < len(value) and entropy > 3


def _is_elsewhere(host: str) -> bool:
    return "example" not in host.lower() and not host.startswith("127.")


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text[: len(text) // 4 * 4]).decode("latin-1")
    except ValueError:
        return ""
