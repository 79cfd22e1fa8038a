"""Places for ledgers: a file, and a database on a throwaway PostgreSQL server. Fixtures for several folders."""

import glob
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import pytest


def find_program(name):
    """Path of a server program, on the PATH or where Debian keeps it; None if there is none."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return shutil.which(name) or (found[-1] if found else None)


def missing_parts():
    """What is not installed that a server needs."""
    programs = [name for name in ("initdb", "postgres") if find_program(name) is None]
    return programs + ([] if importlib.util.find_spec("psycopg") else ["psycopg"])


def unprivileged():
    """Arguments of subprocess and chown for a user that PostgreSQL accepts: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session")
def postgres_server():
    """Folder with the socket of a server; fsync stays on, as in production."""
    if missing_parts():
        reason = f"no PostgreSQL server for the tests: {', '.join(missing_parts())} not found"
        if os.environ.get("HUSHRANK_REQUIRE_POSTGRES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tempfile.mkdtemp(prefix="hushrank-")  # short: the path of a socket has at most 107 characters
    account = unprivileged()
    if account:
        os.chown(folder, account["user"], account["group"])
    options = {"cwd": folder, "env": {**os.environ, "LC_ALL": "C"}, "stdout": subprocess.DEVNULL, **account}
    data = os.path.join(folder, "data")
    initdb = [find_program("initdb"), "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync"]
    server = None
    try:
        subprocess.run(initdb, check=True, **options)
        command = [find_program("postgres"), "-D", data, "-k", folder, "-c", "listen_addresses="]
        with open(os.path.join(folder, "log"), "wb") as log:
            server = subprocess.Popen(command, stderr=log, **options)
        wait_for(folder)
        yield folder
    finally:
        if server is not None:
            server.send_signal(signal.SIGQUIT)  # at once: nothing in it is needed again
            server.wait(timeout=60)
        shutil.rmtree(folder)


def wait_for(folder):
    """Return when the server answers, with the database of the tests in it."""
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            with psycopg.connect(host=folder, user="tester", dbname="postgres", autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {DATABASE}")
            return
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)


# One for all tests: to make one is to copy 7 MB, to remove them all at the end took longer than the tests.
DATABASE = "ledger"
EMPTY_AGAIN = f"""
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();
DROP SCHEMA public CASCADE;
CREATE SCHEMA public;
ALTER DATABASE {DATABASE} RESET ALL;
"""


@pytest.fixture
def postgres_url(postgres_server):
    """URL of an empty database that nobody is connected to; nothing of the test before is left in it."""
    import psycopg

    with psycopg.connect(host=postgres_server, user="tester", dbname=DATABASE, autocommit=True) as connection:
        connection.execute(EMPTY_AGAIN)
    return f"postgresql://tester:secret@/{DATABASE}?host={postgres_server}"


@pytest.fixture
def sqlite_path(tmp_path):
    """Path of a file that does not exist."""
    return str(tmp_path / "budget.db")


@pytest.fixture(params=["sqlite_path", "postgres_url"])
def where(request):
    """A place for a new ledger, of each kind."""
    return request.getfixturevalue(request.param)
