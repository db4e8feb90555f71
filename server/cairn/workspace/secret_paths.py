"""Recognise files that may hold secrets by their paths, in any case.

Some names mean a secret whatever the content is. For all other files of data or settings, the path decides
how closely their content is examined (`secret_content`).
"""

from __future__ import annotations

import enum
import re

from cairn.languages.registry import CODE_EXTENSIONS, CONFIG_LANGUAGES, detect_language


class Suspicion(enum.IntEnum):
    """How closely the content of a file with this path is examined."""

    NONE = enum.auto()
    """The file is code or a document, which may show how a secret looks."""
    SAMPLE = enum.auto()
    """The file is a sample, of tests, examples or documents, or a script. Only tokens are searched for."""
    WEAK = enum.auto()
    """The file has data or settings."""
    STRONG = enum.auto()
    """The file is of a kind that often contains credentials."""


_DIRECTORIES = frozenset(
    """
    .ssh .aws .gnupg .kube .oci .aliyun .bluemix .jfrog .snowsql .huggingface .password-store .envs
    .secrets .credentials .filezilla .purple .electrum .bitcoin .ethereum keychains keyrings
    .config/gcloud .config/gh .config/hub .config/glab-cli .config/github-copilot .config/op .config/doctl
    .config/rclone .config/sops .config/hcloud .config/heroku .config/stripe .config/fly .subversion/auth
    """.split()
)
"""Directories in which programs keep credentials. Some of them count only in the directory before `/`."""

_NAMES = frozenset(
    """
    .env .envrc .dev.vars .secrets .secret .credential .credentials .password .passwords .passwd .token
    .tokens .netrc _netrc .authinfo .pgpass pgpass.conf .my.cnf .mylogin.cnf .htpasswd htpasswd .htdigest
    shadow gshadow master.passwd .smbcredentials smbcredentials .passwd-s3fs wpa_supplicant.conf
    kubeconfig .dockerconfigjson .git-credentials .gitcookies .npmrc .pypirc .dockercfg .terraformrc
    terraform.rc .s3cfg .s3curl .boto .databrickscfg .rclone.conf rclone.conf .fetchmailrc .msmtprc
    .getmailrc .mbsyncrc .offlineimaprc .trc .vault-token auth.json accesstokens.json azureprofile.json
    application_default_credentials.json oauth_creds.json kaggle.json .claude.json local.settings.json
    http-client.private.env.json settings-security.xml logins.json recentservers.xml sitemanager.xml
    filezilla.xml .ftpconfig .ftppass sftp-config.json winscp.ini .remote-sync.json cookies.txt
    rootkey.csv wp-config.php localsettings.php secret_token.rb .histfile .zhistory .rhistory .lesshst
    .viminfo _viminfo .dbshell consolehost_history.txt serve-token serve-url team-token trial-token
    """.split()
)

_ENDINGS = frozenset(
    """
    pem key p8 p12 pfx pkcs12 jks jceks bks keystore keytab kdb kdbx ppk ovpn tfstate tfvars env agekey
    keychain keychain-db publishsettings kubeconfig 1pif 1pux
    """.split()
)

_DATA = r"\.(?:jsonc?|json5|ya?ml|toml|ini|cfg|cnf|conf|config|properties|xml|plist|txt|csv|tsv)"
_WHOSE = (
    r"(?:prod(?:uction)?|live|stag(?:e|ing)|pre-?prod|dev(?:elopment)?|test(?:ing)?|qa|uat|ci|local|remote|default"
    r"|private|real|my|our|app|api|users?|admin|root|super|service|server|client|backend|web|db|database|mysql"
    r"|postgres(?:ql)?|redis|mongo(?:db)?|smtp|mail|ftp|ssh|vpn|wifi|aws|s3|iam|gcp|gcloud|google|azure|github"
    r"|gitlab|git|docker|registry|npm|pypi|slack|stripe|twilio|openai|anthropic|telegram|discord|bot|twitter"
    r"|facebook|jenkins|jira|ansible|vault|k8s|kube|cluster|deploy|release|signing|new|old|all|\d+)"
)
_WHAT = (
    r"(?:secrets?|credentials?|creds?|passwords?|passwds?|passphrases?"
    r"|(?:api|access|secret|auth|private|account|encryption|signing)[-_]?keys?"
    r"|(?:api|access|auth|refresh|bearer|personal[-_]access|oauth2?|session)[-_]?tokens?|client[-_]?secrets?)"
)
_NAME = re.compile(
    rf"""
      \.env[._-].* | env[._-]{_WHOSE} | \.dev\.vars[._-].*                    # .env.production, .env_local
    | \.?(?:{_WHOSE}[-_.\ ])*{_WHAT}(?:[-_.\ ]{_WHOSE})*(?:{_DATA})?(?:\.enc)?  # secrets-prod.yaml
    | \.?(?:{_WHOSE}[-_.])*token(?:\.txt)?                                    # github_token
    | (?:ssh_host_.*_key|id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:[^a-z].*)?)
    | \.?(?:ansible[-_.]?)?vault[-_.]?pass(?:word)?(?:[-_.]?file)?(?:\.txt)?
    | .*(?:service[-_]?account|firebase[-_]adminsdk).*\.json | client[-_]?secrets?.*\.json
    | .*(?:credentials|access[-_]?keys?)\.csv | (?:.*[-_.])?kube-?config(?:[-_.]{_WHOSE})*(?:{_DATA})?
    | .*\.tfstate\..* | .*\.tfvars\.json | credentials\.tfrc\.json | msal_token_cache.*
    | \.\w+_history | (?:ba|z|k|c|fi)?sh_history(?:\.txt)? | (?:p|my)sql_history
    | .*\.postman_(?:environment|globals)\.json
    | (?:bitwarden|lastpass|1password|keepass|chrome)[-_\ ].*\.(?:csv|json)
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME_HINT = re.compile(
    r"env|vars|secret|cred|pass|key|token|id_|account|firebase|config|tfstate|history|postman|1password|chrome"
    r"|bitwarden"
)
_PATH = re.compile(
    r"""(?:.*/)?(?:
      \.docker/config\.json | \.azure/[^/]+\.(?:json|bin|sess) | \.m2/settings[^/]*\.xml
    | \.cargo/credentials.* | \.terraform\.d/credentials.*
    | \.config/[^/]+/(?:auth|credentials?|tokens?|hosts)\.(?:json|ya?ml|toml)
    | \.config/hub | \.ngrok2?/ngrok\.yml | \.circleci/cli\.yml | \.fly/config\.yml | \.streamlit/secrets.*
    )""",
    re.VERBOSE | re.DOTALL,
)
"""Paths of files whose names alone mean nothing."""

_DECORATION = re.compile(
    r"""
      ^(?:copy\ of\ |\.?\#|\._) | \# $ | \ (?:-\ )?copy(?=[\ .(]|$) | \ ?\(\d+\)(?=\.|$) | \ \d+(?=\.|$)
    | (?:~|[-._](?:(?:bak|backup|old|orig|saved?|copy)\d*|sw[a-p]|tmp|disabled|rpmsave|dpkg-\w+|\d{1,14}))+$
    """,
    re.VERBOSE,
)
"""What editors, file managers and people add to the name of a backup copy. A copy of a secret is a secret."""
_DOT = re.compile(r"^(?:(?:private|encrypted|readonly)_)*dot[-_](?=[a-z0-9]+(?:[.-]|$))")
"""Managers of dotfiles write a leading dot so."""

_SAMPLE = re.compile(
    r"(?:^|[-_.])(?:examples?|samples?|templates?|tmpl|tpl|dist|schema|skel|stub)(?:[-_.]|$)"
    r"|^\.env[-_.]defaults?$|^defaults?\.env$"
)
"""Files that show which secrets a project needs, but contain none."""
_SHOWN = re.compile(
    r"tests(?:__)?/|(?:^|[/._-])(?:test|testdata|testing|specs?|fixtures?|mocks?|examples?|samples?|demos?|docs?"
    r"|documentation)(?:__)?[/._-]"
)
"""Directories of tests, examples and documents, whose keys and passwords are shown on purpose."""
_TRANSLATIONS = frozenset("locale locales i18n l10n lang langs languages translations messages".split())
"""Directories with translations of words like "password"."""
_WITH_TEXT = _TRANSLATIONS | {"templates"}
_TEXT_ENDINGS = (".json", ".yaml", ".yml", ".xml", ".properties", ".txt", ".csv")

_SUSPICIOUS = frozenset(
    """
    gradle.properties local.properties keystore.properties key.properties signing.properties settings.xml
    nuget.config web.config app.config .mcp.json mcp.json mcp_config.json mcp_settings.json
    cline_mcp_settings.json claude_desktop_config.json settings.local.json opencode.json .aider.conf.yml
    .yarnrc .yarnrc.yml pip.conf pip.ini .condarc .wgetrc .curlrc .gitconfig .hgrc .muttrc .bashrc
    .bash_profile .profile .zshrc .zshenv .zprofile profiles.yml database.yml ngrok.yml sftp.json
    local_settings.py env.json env.yml env.yaml
    """.split()
)
_SUSPICIOUS_WORD = re.compile(
    r"secret|credential|passw|token|api[-_]?key|vault"
    r"|(?:^|[/._-])(?:prod|production|live|private|creds?|appsettings|application)(?=[/._-])"
)
_DATA_LANGUAGES = frozenset({"", "text", *CONFIG_LANGUAGES})
_SHELLS = frozenset({"bash", "fish", "batch", "powershell"})
"""Languages of scripts that set variables as settings do."""


def is_secret_directory(path: str) -> bool:
    """Return whether the directory at `path` (with `/`) is for secrets, whatever its parents are."""
    parent, _, name = path.lower().rpartition("/")
    name = _undecorated(name)
    return name in _DIRECTORIES or f"{parent.rpartition('/')[2]}/{name}" in _DIRECTORIES


def is_secret_file(path: str) -> bool:
    """Return whether the file at `path` (with `/`) is a secret by its name, whatever its directories are."""
    path = path.lower()
    parent, _, name = path.rpartition("/")
    if name.rpartition(".")[2] in CODE_EXTENSIONS and not name.startswith(".env"):
        return name in _NAMES
    if not (_is_secret_name(name) or ("." in parent and _PATH.fullmatch(path))):
        name = _undecorated(name)
        if not _is_secret_name(name):
            return False
    if _SAMPLE.search(name):  # Files of keys have no samples.
        return name.rpartition(".")[2] in _ENDINGS and not name.endswith((".env", ".tfvars"))
    return not name.endswith(_TEXT_ENDINGS) or _WITH_TEXT.isdisjoint(parent.split("/"))


def suspicion(path: str) -> Suspicion:
    """Return how closely the content of the file at `path` (with `/`) is examined, if no name excludes it."""
    *directories, name = path.lower().split("/")
    if not (name in _SUSPICIOUS or _is_data(name)):
        return Suspicion.SAMPLE if detect_language(name) in _SHELLS else Suspicion.NONE
    if _SAMPLE.search(name) or _SHOWN.search("".join(f"{each}/" for each in directories)):
        return Suspicion.SAMPLE
    near = "/".join([*directories[-1:], name])
    is_suspicious = name in _SUSPICIOUS or _SUSPICIOUS_WORD.search(near)
    return Suspicion.STRONG if is_suspicious and _TRANSLATIONS.isdisjoint(directories) else Suspicion.WEAK


def _is_data(name: str) -> bool:
    language = detect_language(name)
    if name.endswith(".asc"):  # An armoured key, or AsciiDoc.
        return True
    if not language and name.count(".") > 1:  # A template or copy is what its original is: `app.rb.tt`.
        language = detect_language(name.rpartition(".")[0])
    return language in _DATA_LANGUAGES


def _is_secret_name(name: str) -> bool:
    if name in _NAMES or ("." in name and name.rpartition(".")[2] in _ENDINGS):
        return True
    return bool(_NAME_HINT.search(name) and _NAME.fullmatch(name))


def _undecorated(name: str) -> str:
    return _DOT.sub(".", _DECORATION.sub("", name.strip()), count=1)
