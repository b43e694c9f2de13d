"""A PostgreSQL server of the tests' own: made, started and removed by them, reached by a socket in a folder."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa


def programs() -> Path | None:
    """Return the folder with initdb and pg_ctl, or None if there is no PostgreSQL here."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(versions, key=lambda path: float(path.parent.name), default=None)


class Server:
    """A server in a folder of its own; nobody but this machine's users can reach it.

    PostgreSQL refuses to run as root, so then it runs as a user without rights.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        self.rights: dict[str, Any] = {}
        self._made = 0
        if os.getuid() == 0:
            user = _unprivileged()
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(self, program: str, *args: str) -> None:
        """Run one of PostgreSQL's programs in the folder; an error shows what it printed."""
        log = self.folder / "programs.log"
        with log.open("a") as output:
            done = subprocess.run(
                [self.programs / program, *args],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                **self.rights,
            )
        if done.returncode:
            log_files = [path.read_text() for path in (log, self.folder / "server.log") if path.exists()]
            raise RuntimeError(f"{program} failed: " + "\n".join(log_files))

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        self.run("pg_ctl", "-D", "data", "-l", "server.log", "-o", options, "-w", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; ``immediate`` is as if it had crashed."""
        self.run("pg_ctl", "-D", "data", "-m", mode, "-w", "stop")

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database."""
        query = {"host": str(self.folder)}
        return sa.URL.create("postgresql", "tests", database=database, query=query).render_as_string()

    def new_database(self) -> str:
        """Make a database and return its URL."""
        self._made += 1
        name = f"sessions_{self._made}"
        engine = sa.create_engine(
            self.url().replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        engine.dispose()
        return self.url(name)


def _unprivileged() -> pwd.struct_passwd:
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _open_folder() -> str | None:
    """Return a temporary folder that every user can get to; None for the usual one."""
    usual = Path(tempfile.gettempdir())
    is_open = all(folder.stat().st_mode & stat.S_IXOTH for folder in (usual, *usual.parents))
    return None if is_open and len(str(usual)) < 60 else "/tmp"


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """Give a running server; its folder is short-lived, and in the system's own temporary folder, since the path of a
    socket must be short and another user must get there.
    """
    server = Server(programs, Path(tempfile.mkdtemp(prefix="pi_nb_pg_", dir=_open_folder())))
    with _watched(server):
        server.run("initdb", "-D", "data", "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        server.start()
        yield server


@contextmanager
def _watched(server: Server) -> Iterator[None]:
    """Have a process that ends the server and takes its folder away when ours ends, however that comes."""
    script = 'cat; "$1/pg_ctl" -D data -m immediate -w stop; cd /; rm -rf "$2"'
    watch = subprocess.Popen(
        ["sh", "-c", script, "sh", server.programs, server.folder],
        cwd=server.folder,
        stdin=subprocess.PIPE,  # it ends when we do
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **server.rights,
    )
    try:
        yield
    finally:
        watch.communicate()
