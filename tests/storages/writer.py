"""A process that appends to a session: ``writer.py URL SESSION NAME TURNS``. It prints the id of each entry written."""

from __future__ import annotations

import sys

from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.tree import Session


def main(url: str, session_id: str, name: str, turns: str) -> None:
    """Append so many messages, each from where the last one of this process is."""
    with Session(SqlSessionStorage.open(url, session_id)) as session:
        print("ready", session.leaf_id, flush=True)
        sys.stdin.readline()
        for turn in range(int(turns)):
            print(session.append_message({"role": "user", "content": f"{name}.{turn}"}), flush=True)
        sys.stdin.readline()
        session.refresh()
        print(len(session), session.leaf_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
