"""Sessions: one append-only log of entries, read as a tree. Knows no model, no HTTP, no Jupyter.

From the outside inwards:

* :mod:`~pi_nb.session.repo`: the folder of sessions; create, open, list, search, fork, delete. ``listing`` and
  ``search`` look at files from outside, ``root`` is where they are, ``fork`` what of one a copy gets.
* :mod:`~pi_nb.session.tree`: ``Session``, the log with a cursor; ``writing`` is what of it appends, ``refs`` are the
  short names people type.
* :mod:`~pi_nb.session.context`: from a path to what a model sees; ``plan`` says which entries, ``items`` makes
  messages of them, ``projection`` does it as the path grows.
* :mod:`~pi_nb.session.storage`: the contract of a storage and what they share (``index``); ``memory``, ``jsonl``
  and ``sql`` keep it. A file is read by ``loading``, ``scan``, ``header`` and ``migration``, kept as ``rawlines``, and
  written by ``logfile`` under a ``lock``; ``sql_database``, ``sql_rows`` and ``sql_lines`` do the same for a database,
  and ``sql_repo`` is all of its sessions.
* :mod:`~pi_nb.session.entries`: the lines as values; ``lines`` is JSON, ``ids`` are ids and times.

Everything is synchronous and may be called from any thread.
"""
