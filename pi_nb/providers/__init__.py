"""Providers: one wire format each. Know no session and no Jupyter."""
