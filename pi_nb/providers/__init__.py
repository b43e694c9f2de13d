"""Providers: one wire format each. Know no session and no Jupyter.

A request goes in, stream events come out; :mod:`~pi_nb.providers.base` says which. On the way::

    registry ─► a provider ─► transform (any history made acceptable) ─► payload
                                                                           │ http, client, network, keys
    events ◄─ builder (pieces to a message) ◄─ a reader (one format) ◄─ sse ◄─┘

Exchanges can be written to a file and played again (:mod:`~pi_nb.providers.record`), for notebooks that anybody can
run and for tests.

To add a wire format, subclass :class:`~pi_nb.providers.http.HttpProvider`: say what a request looks like, and give a
reader that turns one server-sent event into stream events without doing any I/O. A server that speaks Chat Completions
in its own way needs only a line in :mod:`~pi_nb.providers.dialects`.
"""
