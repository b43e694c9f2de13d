"""A marimo app with a tree in it, as ``marimo run`` takes it; see test_marimo.py."""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    from pi_nb import InMemorySessionStorage, Session, TreeView

    def said(text):
        return {"role": "assistant", "content": [{"type": "text", "text": text}]}

    session = Session(InMemorySessionStorage())
    session.append_message({"role": "user", "content": "Where to?"})
    asked = session.append_message(said("Rome or Oslo?"))
    session.append_message({"role": "user", "content": "Rome it is"})
    session.append_message(said("Then see the Forum."))
    session.move_to(asked)
    session.append_message({"role": "user", "content": "Oslo please"})
    session.append_message(said("Then see the Opera."))
    tree = mo.ui.anywidget(TreeView(session))
    more = mo.ui.button(label="Append", on_click=lambda _: session.append_message(said("One more.")))
    return mo, more, session, tree


@app.cell
def _(tree):
    tree  # noqa: B018  # its value is what the cell shows
    return


@app.cell
def _(more):
    more  # noqa: B018
    return


@app.cell
def _(mo, more, session, tree):
    mo.md(f"LEAF {session.entry(session.leaf_id).message.content[0].text} REV {tree.widget.rev} {more.value}")
    return


if __name__ == "__main__":
    app.run()
