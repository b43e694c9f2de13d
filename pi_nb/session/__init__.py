"""Sessions: one append-only log of entries, read as a tree. Knows no model, no HTTP, no Jupyter.

From the outside inwards:

* :mod:`~pi_nb.session.repo`: the folder of sessions; create, open, list, fork, delete. ``listing`` describes files.
* :mod:`~pi_nb.session.tree`: ``Session``, the log with a cursor. ``refs`` are the short names people type.
* :mod:`~pi_nb.session.context`: from a path to what a model sees; ``projection`` does it as the path grows.
* :mod:`~pi_nb.session.storage`: the contract of a storage and what they share (``index``); ``memory``, ``jsonl``
  and ``sql`` keep it. ``logfile``, ``lock``, ``loading`` and ``migration`` are how a file is written and read;
  ``sql_database``, ``sql_rows`` and ``sql_lines`` the same for a database, and ``sql_repo`` is all of its sessions.
* :mod:`~pi_nb.session.entries`: the lines as values; ``lines`` is JSON, ``ids`` are ids and times.

Everything is synchronous and may be called from any thread.
"""
