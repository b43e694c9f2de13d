"""The harness: runs, turns, tools, queues, hooks and save points over one session.

From the outside in: :mod:`agent` is what a program holds and :mod:`base` what can be set of it; :mod:`runner` starts
runs, :mod:`loop` is one run, :mod:`answer` one model call with its retries, :mod:`calls` the tool calls of one answer;
:mod:`branch_run` is a run with a place of its own, to be held.
:mod:`run` holds what a run works with; :mod:`activities` knows who is busy, :mod:`signals` stops them.
:mod:`compactor` and :mod:`navigation` act on the session, :mod:`compaction` and :mod:`branch_summary` decide what they
do. :mod:`tools` makes tools of functions; :mod:`hooks` and :mod:`events` are where a program joins in.
:mod:`resources` are skills and prompt templates, :mod:`resource_files` loads them from folders.

Every append of a run goes through its :class:`~pi_nb.harness.run.Cursor`, never to "the leaf": that is what lets
several runs work on one session at the same time.
"""
