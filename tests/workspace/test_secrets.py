"""Files with secrets are recognised by their paths and contents, and files about secrets are not."""

from __future__ import annotations

import base64
import json
import random
import time

import pytest
from tests.workspace import secret_files

from cairn.workspace.builtin_rules import decide_content, may_contain_secrets
from cairn.workspace.git_log import Change, Commit

NAMES = (
    *"""
    application_default_credentials.json .env.sh .env.php default-credentials.json .env .env.local
    .env.production .env_prod .env-staging ENV.PROD prod.env .envrc .dev.vars .dev.vars.local
    .envs/.production/.postgres .secrets/app .ssh/config .aws/config .aws/sso/cache/a.json .gnupg/trustdb
    .kube/config .azure/accessTokens.json .azure/azureProfile.json .azure/msal_token_cache.json
    .docker/config.json .config/gcloud/access.json .config/gh/hosts.yml .config/hub
    .config/glab-cli/config.yml .config/op/config .config/containers/auth.json .oci/config
    .password-store/mail .bash_history .zsh_history .psql_history .mysql_history .python_history
    .node_repl_history .sqlite_history .rediscli_history .irb_history .lesshst .viminfo bash_history.txt
    fish_history ConsoleHost_history.txt .netrc _netrc .netrc.bak .pgpass pgpass.conf .my.cnf .mylogin.cnf
    .htpasswd .git-credentials .npmrc .pypirc .dockercfg .dockerconfigjson .s3cfg .boto .terraformrc
    credentials.tfrc.json .vault_pass vault-password.txt .vault-token .databrickscfg kaggle.json
    rclone.conf .rclone.conf wpa_supplicant.conf .m2/settings.xml .m2/settings-security.xml
    .gem/credentials .cargo/credentials .cargo/credentials.toml auth.json composer/auth.json .claude.json
    .credentials.json .claude/.credentials.json oauth_creds.json .gemini/oauth_creds.json
    local.settings.json http-client.private.env.json kubeconfig kubeconfig.yaml kubeconfig-prod.yml
    prod.kubeconfig kube-config.json admin-kubeconfig.yaml secrets.yaml Secrets.YML secret.json
    secrets-prod.yaml secrets_prod.yml secrets.production.json prod-secrets.yaml prod.secrets.toml
    app_secrets.ini my-secrets.txt secrets.yml.enc credentials.yml.enc credentials credentials.csv
    new_user_credentials.csv aws_credentials.ini db-credentials.yml creds.json accessKeys.csv
    deploy_accessKeys.csv rootkey.csv password.txt passwords.csv db_password.txt .password api_key.txt
    api-keys.json apikeys.yaml private-key.txt github_token gitlab-token.txt token.txt .token access_token
    access-token.json client_secret_7.json service-account.json gcp-serviceAccount-prod.json
    x-firebase-adminsdk-y.json team-token serve-token serve-url wp-config.php LocalSettings.php
    config/initializers/secret_token.rb id_rsa id_rsa_work id_ed25519.pub ID_ECDSA_SK ssh_host_rsa_key
    server.pem a.key b.ppk c.kdbx d.p12 e.jks f.keystore g.tfstate g.tfstate.backup h.tfvars
    h.auto.tfvars.json config/master.key config/credentials/production.key
    staging.postman_environment.json bitwarden_export_20260101.json sftp-config.json .ftpconfig
    logins.json filezilla/sitemanager.xml cookies.txt gh.publishsettings dot_netrc private_dot_env dot-env
    dot_ssh/config .env~ .env.bak .env.old .env.1 .env.20260101 #.env# .#.env .env.swp secrets.yaml.orig
    credentials.json.save credentials.json.bak2 id_rsa.old .ssh.bak/config .npmrc.rpmsave
    """.split(),
    "credentials (1).json", "credentials copy.json", "secrets - Copy.yaml", "Copy of secrets.yaml",
    "secrets 2.yaml", "credentials.json ", "my passwords.txt",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_path_of_a_secret_excludes_the_file(name: str) -> None:
    for path in (name, f"deep/er/{name}", name.upper()):
        assert may_contain_secrets(path), path


@pytest.mark.parametrize(
    "path",
    """
    .env.example .env.sample .env.local.example .env.production.template example.env sample.env .env.dist
    env
    secrets.example.yaml secrets.yaml.sample credentials.template.json terraform.tfvars.example
    environment.py secrets.py secret.go credentials.ts credentials/token.go keys.md passwords.md token.rs
    tokens.json
    tokenizer.json vocabulary/tokens.txt tokenize.txt monkey turkey.txt keyboard.json keys.ts auth.py
    auth.ts
    config.json docker/config.json .docker/Dockerfile .docker/nginx.conf .azure/pipelines/build.yml
    azure.json
    settings.xml .config/nvim/init.lua history.md version_history release_history.txt History.txt
    password_reset.html password-strength.json reset_password.yml passwords_controller.rb secret_santa.txt
    locales/en/auth.json i18n/secrets.json src/lang/de/passwords.json config/locales/credentials.yml
    chart/templates/secret.yaml chart/templates/credentials.yaml clusterrole-secrets.yaml
    external-secret-store.yaml
    kubeconfig.py kubeconfig_test.go service_account.py serviceaccount.yaml access_keys.py
    dot_env_configuration.rb
    netrc.c npmrc.ts pgpass.go environments/production.rb production.json gradle.properties account.json
    api_key.rb api_keys_controller.rb tfstate.md id.rs id_generator.py cookies.ts wp-config-sample.php
    appsettings.json appsettings.Development.json web.config nuget.config .mcp.json .yarnrc.yml pip.conf
    """.split(),
)
def test_path_of_code_or_settings_excludes_nothing(path: str) -> None:
    assert not may_contain_secrets(path)
    assert decide_content(path, "Some text of the file.\n").indexed


KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAq8hR3xQmTtZ0v1\n-----END RSA PRIVATE KEY-----\n"
INDENTED = "tls:\n  key: |\n" + "".join(f"    {line}\n" for line in KEY.splitlines())
ENCODED = base64.b64encode(KEY.encode()).decode()
LOGIN = base64.b64encode(b"harbour:m0untainLake").decode()


def found(path: str, text: str) -> str:
    decision = decide_content(path, text)
    assert decision.rule in ("no rule excludes it", "built-in: may hold secrets")
    return decision.detail


@pytest.mark.parametrize(
    ("path", "text", "detail"),
    [
        ("deploy/values.yaml", INDENTED, "line 3 has a private key"),
        ("sa.json", json.dumps({"private_key": KEY}), "line 1 has a private key"),
        ("app.properties", "a=1\nkey=" + KEY.replace("\n", "\\n"), "line 2 has a private key"),
        ("notes.txt", "The key:\n\n" + KEY, "line 3 has a private key"),
        ("mail.asc", "A message.\n" + KEY.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "line 2 has a private key"),  # noqa: E501
        ("k.yaml", "k: |\n" + KEY.replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0\n\n", 1), "line 2 has a private key"),  # noqa: E501
        ("cluster.conf", f"users:\n- client-key-data: {ENCODED}\n", "line 2 has a private key"),
        ("wg0.conf", f"[Interface]\nPrivateKey = {'aB3d' * 10}qR5=\n", "line 2 has a private key"),
        ("jwk.json", '{"kty": "EC", "d": "' + "q8hR3xQm" * 5 + '"}', "line 1 has a private key"),
        ("app.yml", "$ANSIBLE_VAULT;1.1;AES256\n6338\n", "line 1 has encrypted secrets"),
        ("registry.json", '{"auths": {"r.example": {"auth": "' + LOGIN + '"}}}', "line 1 has the login of a registry"),  # noqa: E501
        (
            "pip.ini",
            "[global]\nindex-url = https://ada:m0untainLake@pypi.acme.org/\n",
            "line 2 has a URL with a password",
        ),
        ("s.yaml", "apiVersion: v1\nkind: Secret\ndata:\n  door: bTB1bnRhaW5MYWtl\n", "line 4 has the data of a Secret"),  # noqa: E501
        ("s.yaml", "kind: Secret\nstringData:\n  DB_PASS: m0untain\n", "line 3 has a password or key"),
        (".mcp.json", '{"env": {"HARBOUR_API_KEY": "m0untain-Lake7"}}', "line 1 has a password or key"),
        (".mcp.json", '{"headers": {"Authorization": "Bearer m0untainLake7"}}', "line 1 has a password or key"),  # noqa: E501
        (
            "gradle.properties",
            "org.gradle.daemon=true\nsigningPassword=swordfish7\n",
            "line 2 has a password or key",
        ),
        ("maven/settings.xml", "<server><password>swordfish</password></server>\n", "line 1 has a password or key"),  # noqa: E501
        (
            "nuget.config",
            '<add key="ClearTextPassword" value="m0untain!" />\n',
            "line 1 has a password or key",
        ),
        (".yarnrc.yml", "npmScopes:\n  a:\n    npmAuthToken: 1f2e3d4c-mast\n", "line 3 has a password or key"),  # noqa: E501
        (
            "appsettings.Production.json",
            '{"Db": "Server=a;User Id=b;Password=m0unt@in"}',
            "line 1 has a password or key",
        ),
        ("config/production.yml", "db_password: S3cr1t!lake\n", "line 1 has a password or key"),
        ("chart/templates/secret.yaml", "password: m0untainLake\n", "line 1 has a password or key"),
        (".zshrc", "export MAST_TOKEN=m0untainLake7\n", "line 1 has a password or key"),
    ],
)  # fmt: skip
def test_secret_in_the_content_excludes_data_and_settings(path: str, text: str, detail: str) -> None:
    assert found(path, text) == detail


def test_random_tokens_and_passwords_exclude_their_files() -> None:
    for path, text in (*secret_files.files_with_tokens(7, 300), *secret_files.files_with_passwords(7, 200)):
        assert found(path, text), (path, text)


def test_placeholders_exclude_no_file() -> None:
    for path, text in secret_files.files_with_placeholders(7, 300):
        assert not found(path, text), (path, text)


def test_token_in_a_script_of_a_shell_excludes_it() -> None:
    token = secret_files.token(random.Random(3))
    assert found("deploy.sh", f"#!/bin/sh\nexport TIDE={token}\n").startswith("line 2 has ")
    assert not found("deploy.sh", "export PASSWORD=m0untainLake7m0untain TOKEN=$(cat token)\n")


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("src/client.rb", "TOKEN = '{}'\n"),
        ("src/client.py", 'TOKEN = "{}"\n'),
        ("tests/test_client.ts", "const token = '{}'\n"),
        ("README.md", "Set the token to `{}`.\n"),
    ],
)
def test_code_and_documents_with_a_token_are_indexed(path: str, form: str) -> None:
    assert not found(path, form.format(secret_files.token(random.Random(3))))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/fixtures/tls.yaml", INDENTED),
        ("docs/examples/secret.yml.md", "kind: Secret\ndata:\n  a: bTB1bnRhaW5MYWtl\n"),
        ("examples/app.json", '{"password": "m0untainLake7m0untain"}'),
        ("Strings.resx", "<value>System, Version=4.0.0.0, PublicKeyToken=b77a5c561934e089</value>\n"),
        ("messages_cs.properties", "emptyPassword=\\u0160patn\\u00E9 p\\u0159ihla\\u0161ovac\\u00ED\n"),
        ("locales/de/auth.json", '{"password": "Passwort", "token": "Zugriffstoken"}'),
        ("ingress.yaml", "spec:\n  tls:\n  - secretName: harbour-tls\n    secret: default/harbour-tls-2\n"),
        ("pod.yaml", "env:\n- name: PASSWORD\n  valueFrom: {secretKeyRef: {name: a, key: password}}\n"),
        ("s.yaml", "kind: Secret\ndata:\n  ca.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM1\n"),
        ("ci.yml", "env:\n  TOKEN: ${{ secrets.GITHUB_TOKEN }}\n  url: https://user:pass@example.com/\n"),
        ("compose.yml", "environment:\n  URL: postgres://postgres:postgres@localhost:5432/app\n"),
        ("package.json", '{"integrity": "sha512-q8hR3xQmTtZ0v1q8hR3xQmTtZ0v1==", "author": "A <a@b.org>"}'),
        ("public.txt", KEY.replace("PRIVATE", "PUBLIC")),
        ("empty.yaml", "key: |\n  -----BEGIN PRIVATE KEY-----\n  -----END PRIVATE KEY-----\n"),
        ("tokens.json", '{"token": {"colour": {"value": "#ff8800"}}, "passwordField": {"radius": "4px"}}'),
    ],
)
def test_text_about_secrets_is_indexed(path: str, text: str) -> None:
    assert not found(path, text)


@pytest.mark.parametrize(
    "text",
    [
        "a", "ghp_", "token=", "password: ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n",
        "://a:b", "\n", "eyJa.eyJ", "LS0tLS1CRUdJTi", '"d" kty', '"auth": "', "AKIA", "-us", ":AA",
        "sig=", "PrivateKey =",
        "kind: Secret\ndata:\n a: bbbb\n", "kind: Secret\n", " data:\n", "f", "sk-", "hooks.slack.com/",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_long_time(text: str) -> None:
    for hostile in (text * (200_000 // len(text)), text + " " * 200_000, "kind: Secret\n" + text * 20_000):
        started = time.process_time()
        decide_content("a.json", hostile)
        assert time.process_time() - started < 2


def test_subjects_of_commits_of_secrets_are_not_kept() -> None:
    def kept(subject: str, *paths: str, before: str | None = None) -> str:
        commit = Commit("1", 1, subject, tuple(Change(path, before) for path in paths))
        return commit.without_secrets(may_contain_secrets).subject

    assert kept("The door opens with swordfish", ".env", "conf/secrets.yaml") == ""
    assert kept("Rename the key", "id_rsa", before=".ssh/id") == ""
    assert kept("Read the door's code", ".env", "door.py") == "Read the door's code"
    assert kept("No secrets any more", "settings.toml", before="secrets.toml") == "No secrets any more"
    assert kept("Nothing changed") == "Nothing changed"
    assert kept(f"Use {secret_files.token(random.Random(1))}", "door.py") == ""
