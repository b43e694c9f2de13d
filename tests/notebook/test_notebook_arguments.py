"""Options are cut off the front of a prompt; the prompt itself is never parsed."""

from __future__ import annotations

import pytest

from pi_nb.errors import UserError
from pi_nb.notebook.arguments import Argument, Command, Option

PROMPT = Command(
    "%%pi",
    "Prompt.",
    (
        Option(("--model", "-m"), "Which model.", "MODEL", "model"),
        Option(("--append",), "Append."),
        Option(("--max-turns",), "Limit.", "N", type=int),
    ),
    prompt=True,
)
LABEL = Command("%pi_label", "Label.", (Option(("--clear",), "Clear."),), (Argument("name", "Name."),))


@pytest.mark.parametrize(
    ("line", "model", "append", "text"),
    [
        ("", None, False, ""),
        ("tell me --append", None, False, "tell me --append"),
        ("-m a:b it's {x} \"q", "a:b", False, "it's {x} \"q"),
        ("--append --model='a b' x", "a b", True, "x"),
        ("--model a:b -- --append", "a:b", False, "--append"),
        ("--append -5 + 3  ", None, True, "-5 + 3  "),
    ],
)
def test_options_before_a_prompt(line: str, model: str | None, append: bool, text: str) -> None:
    """Options come first; what follows is the prompt exactly as it stands."""
    given = PROMPT.parse(line)
    assert (given.model, given.append, given.text) == (model, append, text)


@pytest.mark.parametrize(
    ("command", "line", "message", "hint"),
    [
        (PROMPT, "--modle a:b x", "%%pi has no option --modle.", "Did you mean --model?"),
        (PROMPT, "--max-turns many x", "invalid int value: 'many'", "usage: %%pi"),
        (PROMPT, "--model", "expected one argument", "usage: %%pi"),
        (LABEL, "a b", "'b' is one argument too many", "usage: %pi_label"),
        (LABEL, "'a", "No closing quotation", "quote missing"),
    ],
)
def test_mistakes_are_one_line(command: Command, line: str, message: str, hint: str) -> None:
    """A mistake is a UserError that says what is wrong and what to type."""
    with pytest.raises(UserError) as caught:
        command.parse(line)
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_help_lists_every_option() -> None:
    """The help is argparse's, with all spellings."""
    text = PROMPT.parser.format_help()
    assert all(flag in text for flag in PROMPT.flags)
    assert PROMPT.parse("--help").help
