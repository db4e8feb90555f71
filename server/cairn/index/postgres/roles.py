"""Access rights to rows: tables of grants, their triggers, row security, and roles of the database cluster.

A reader is a role that cannot log in. The server logs in as a member of `cairn_server`, which may become any
reader but inherits no rights from readers. All readers have the rights of `cairn_reader`: they may read the
parent tables, but not the partitions.

The policies use subqueries that do not depend on the row, so PostgreSQL evaluates each once per query and
looks rows up in a hash table. A reader of everything needs no subquery about its grants. The rows of a pool
are looked up in `holdings` only if the reader sees some but not all of the pool's repositories.

PostgreSQL checks a query's own conditions after the policies, except leakproof ones. `starts_with` and
comparisons of numbers, text and bytea are leakproof and use indexes. `LIKE` is not leakproof, so write a
search for a prefix as a range. The estimates of EXPLAIN and the sizes of tables include hidden rows.

Roles belong to the cluster, not to a database: two stores in a cluster share the role `cairn:alice`, but each
has its own grants. So Cairn never drops a role; a role without grants sees nothing.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress

from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from cairn.errors import InvalidRequestError, StoreUnavailableError

READERS = "cairn_reader"
"""The group of all readers. It may select from tables; the policies decide from which rows."""
SERVERS = "cairn_server"
"""The group of logins that may become a reader and look up tokens."""

_ALL = "(SELECT EXISTS (SELECT FROM cairn.everything))"
_BY_FILE = f"""
    {_ALL}
    OR pool IN (SELECT pool FROM cairn.pool_grants)
    OR (
        pool IN (SELECT pool FROM cairn.repositories)
        AND EXISTS (
            SELECT FROM cairn.holdings AS holding
            WHERE holding.shard = {{table}}.shard AND holding.pool = {{table}}.pool
                AND holding.file = {{table}}.{{file}}
        )
    )
"""
_BY_REPOSITORY = f"{_ALL} OR repository IN (SELECT repository FROM cairn.visible_repositories)"
_OWN = "role = current_user"

# A policy may read only tables whose policies do not read this one.
POLICIES = {
    "grants": _OWN,
    "everything": _OWN,
    "pool_grants": _OWN,
    "repositories": f"{_ALL} OR id IN (SELECT repository FROM cairn.grants)",
    **dict.fromkeys(
        ("snapshots", "refs", "snapshot_parts", "repository_words", "segments", "terms", "holdings"),
        _BY_REPOSITORY,
    ),
    "files": _BY_FILE.format(table="files", file="id"),
    **{table: _BY_FILE.format(table=table, file="file") for table in ("chunks", "vectors", "definitions")},
}
"""For each table that readers may select from, the condition for a row to be visible."""

GRANTS = """
CREATE TABLE cairn.grants(
    role name NOT NULL,
    repository int NOT NULL REFERENCES cairn.repositories ON DELETE CASCADE,
    PRIMARY KEY(role, repository)
);
CREATE INDEX grants_by_repository ON cairn.grants(repository);
CREATE TABLE cairn.everything(role name PRIMARY KEY);
CREATE TABLE cairn.pool_grants(
    role name NOT NULL,
    pool int NOT NULL REFERENCES cairn.pools ON DELETE CASCADE,
    PRIMARY KEY(role, pool)
);
CREATE INDEX pool_grants_by_pool ON cairn.pool_grants(pool);
CREATE TABLE cairn.tokens(
    hash bytea PRIMARY KEY,
    role name NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    note text NOT NULL DEFAULT '',
    expires_at timestamptz
);
CREATE VIEW cairn.visible_repositories WITH (security_invoker = true) AS
    SELECT id AS repository FROM cairn.repositories;
"""

# `pool_grants` contains the pools whose repositories were all granted to a role individually. A role in
# `everything` has no rows there. The lock serialises changes of grants and repositories. Without it, a grant
# and a new private fork could be made at the same time without seeing each other, and the pool would count as
# wholly visible. The lock works only if each statement sees what was committed before it, so other isolation
# levels are refused.
#
# A transaction that sweeps a pool locks its row (FOR UPDATE) first and clears `unswept` last.
TRIGGERS = """
CREATE FUNCTION cairn.share_pools(changed_pools int[], changed_roles name[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'grants and repositories of Cairn change only in READ COMMITTED transactions'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('cairn.share_pools', 0));
    WITH whole AS (
        SELECT pool.id AS pool, count(*) AS repositories
        FROM cairn.pools AS pool JOIN cairn.repositories AS repository ON repository.pool = pool.id
        WHERE NOT pool.unswept AND (changed_pools IS NULL OR pool.id = ANY(changed_pools))
        GROUP BY pool.id
    ), allowed AS (
        SELECT granted.role, whole.pool
        FROM cairn.grants AS granted
            JOIN cairn.repositories AS repository ON repository.id = granted.repository
            JOIN whole ON whole.pool = repository.pool
        WHERE changed_roles IS NULL OR granted.role = ANY(changed_roles)
        GROUP BY granted.role, whole.pool, whole.repositories
        HAVING count(*) = whole.repositories
    ), removed AS (
        DELETE FROM cairn.pool_grants AS given
        WHERE (changed_pools IS NULL OR given.pool = ANY(changed_pools))
            AND (changed_roles IS NULL OR given.role = ANY(changed_roles))
            AND (given.role, given.pool) NOT IN (SELECT role, pool FROM allowed)
    )
    INSERT INTO cairn.pool_grants(role, pool) SELECT role, pool FROM allowed ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION cairn.grants_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM cairn.share_pools(
        ARRAY(SELECT DISTINCT pool FROM cairn.repositories WHERE id IN (SELECT repository FROM changed)),
        ARRAY(SELECT DISTINCT role FROM changed)
    );
    RETURN NULL;
END $$;

CREATE FUNCTION cairn.repositories_joined() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM cairn.share_pools(ARRAY(SELECT DISTINCT pool FROM changed), NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION cairn.repositories_left() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE cairn.pools SET unswept = true WHERE id IN (SELECT pool FROM changed);
    RETURN NULL;
END $$;

CREATE FUNCTION cairn.repository_moved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE cairn.pools SET unswept = true WHERE id = old.pool;
    PERFORM cairn.share_pools(ARRAY[old.pool, new.pool], NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION cairn.pool_swept() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM cairn.share_pools(ARRAY[new.id], NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION cairn.emptied() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM cairn.share_pools(NULL, NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION cairn.change_refused() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'rows of cairn.% are inserted and deleted, never updated', TG_TABLE_NAME;
END $$;

CREATE TRIGGER granted AFTER INSERT ON cairn.grants REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION cairn.grants_changed();
CREATE TRIGGER revoked AFTER DELETE ON cairn.grants REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION cairn.grants_changed();
CREATE TRIGGER fixed BEFORE UPDATE ON cairn.grants FOR EACH STATEMENT EXECUTE FUNCTION cairn.change_refused();
CREATE TRIGGER emptied AFTER TRUNCATE ON cairn.grants FOR EACH STATEMENT EXECUTE FUNCTION cairn.emptied();

CREATE TRIGGER joined AFTER INSERT ON cairn.repositories REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION cairn.repositories_joined();
CREATE TRIGGER departed AFTER DELETE ON cairn.repositories REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION cairn.repositories_left();
CREATE TRIGGER moved AFTER UPDATE OF pool ON cairn.repositories
    FOR EACH ROW WHEN (old.pool <> new.pool) EXECUTE FUNCTION cairn.repository_moved();
CREATE TRIGGER emptied AFTER TRUNCATE ON cairn.repositories
    FOR EACH STATEMENT EXECUTE FUNCTION cairn.emptied();
CREATE TRIGGER swept AFTER UPDATE OF unswept ON cairn.pools
    FOR EACH ROW WHEN (old.unswept <> new.unswept) EXECUTE FUNCTION cairn.pool_swept();
"""

TOKENS = """
CREATE FUNCTION cairn.role_of_token(token_hash bytea) RETURNS name
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT role FROM cairn.tokens WHERE hash = token_hash AND (expires_at IS NULL OR expires_at > now())
$$;
"""

RIGHTS = f"""
REVOKE ALL ON ALL TABLES IN SCHEMA cairn FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA cairn FROM PUBLIC;
GRANT USAGE ON SCHEMA cairn TO {READERS}, {SERVERS};
GRANT SELECT ON cairn.meta TO {READERS}, {SERVERS};
GRANT SELECT ON cairn.visible_repositories TO {READERS};
GRANT EXECUTE ON FUNCTION cairn.role_of_token(bytea) TO {SERVERS};
""" + "".join(
    f"""
ALTER TABLE cairn.{table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON cairn.{table} FOR SELECT TO {READERS} USING ({condition});
GRANT SELECT ON cairn.{table} TO {READERS};
"""
    for table, condition in POLICIES.items()
)


PREFIX = "cairn:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,56}")  # PostgreSQL truncates role names to 63 bytes.
_TRIES = 8


def role_name(reader: str) -> str:
    """Return the database role of a reader. Raise `InvalidRequestError` for an invalid name."""
    if not _NAME.fullmatch(reader):
        raise InvalidRequestError(
            "reader",
            "must be 1 to 57 letters, digits or any of . _ @ + -, and begin with a letter or a digit",
        )
    return PREFIX + reader


def reader_name(role: str) -> str:
    return role.removeprefix(PREFIX)


def make_groups(connection: Connection[TupleRow]) -> None:
    """Create the groups of readers and of servers if the cluster lacks them."""
    _make_role(connection, READERS)
    _make_role(connection, SERVERS)


def make_reader(connection: Connection[TupleRow], reader: str) -> str:
    """Create the role of a reader if it is missing, let servers become this role, and return its name."""
    role = role_name(reader)
    _make_role(connection, role)
    _make_member(connection, READERS, role, inherit=True)
    _make_member(connection, role, SERVERS, inherit=False)
    return role


def admit_server(connection: Connection[TupleRow], login: str) -> None:
    """Let a login become any reader. Raise `InvalidRequestError` for a login that bypasses row security."""
    found = connection.execute(
        "SELECT rolcanlogin, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (login,)
    ).fetchone()
    if found is None or not found[0]:
        problem = f"{login} is not a role that can log in; make it with CREATE ROLE … LOGIN"
        raise InvalidRequestError("login", problem)
    if found[1]:
        problem = f"{login} is a superuser or has BYPASSRLS; use a role without either"
        raise InvalidRequestError("login", problem)
    _make_member(connection, SERVERS, login, inherit=True)


def _make_role(connection: Connection[TupleRow], role: str) -> None:
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        return

    # Another session may be creating the role.
    with suppress(errors.DuplicateObject, errors.UniqueViolation):
        _change(connection, sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))


def _make_member(connection: Connection[TupleRow], group: str, member: str, *, inherit: bool) -> None:
    """Let a role become a group. With `inherit`, also give it the group's rights."""
    joined = connection.execute(
        "SELECT count(*) = 1 AND bool_and(inherit_option = %s AND set_option)"
        " FROM pg_auth_members"
        " WHERE roleid = to_regrole(quote_ident(%s)) AND member = to_regrole(quote_ident(%s))",
        (inherit, group, member),
    ).fetchone()
    if joined and joined[0]:
        return

    names = (sql.Identifier(group), sql.Identifier(member))
    inherits = sql.SQL(str(inherit).upper())
    _change(connection, sql.SQL("GRANT {} TO {} WITH INHERIT {}, SET TRUE").format(*names, inherits))


def _change(connection: Connection[TupleRow], statement: sql.Composed) -> None:
    """Change roles in a savepoint, and retry while another session changes the same roles.

    PostgreSQL reports the race as an internal error ("tuple concurrently updated") without a specific code.
    """
    for attempt in range(_TRIES):
        try:
            with connection.transaction():
                connection.execute(statement)
            return
        except errors.InsufficientPrivilege:
            raise StoreUnavailableError(
                "The login may not manage the roles of Cairn's readers. Use the login that prepared the"
                " store, with CREATEROLE; where another login made cairn_reader and cairn_server,"
                " let it grant them WITH ADMIN OPTION."
            ) from None
        except errors.InternalError_:
            if attempt == _TRIES - 1:
                raise
            time.sleep(0.01 * 2**attempt)
