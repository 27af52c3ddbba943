"""Messages of the library speak of its parameters (``batch_size=0``); those of a command speak of what is typed there.

What stands in quotes is a name or a value of the user's, and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import typer

_OTHERWISE = {
    "n_jobs": "jobs", "random_state": "seed", "columns": "column", "top": "constraints_from_labels",
    "method_options": "method_option", "n_topics": "topics",
}  # fmt: skip
"""Parameters whose options are called otherwise."""

_ENTRY = r"""\bmethod_options=\{'(\w+)': ([^}]*\}*)\}"""  # of a dict that is typed NAME=VALUE
_QUOTED = r"""(?<!\w)'[^'\n]*'|"[^"\n]*\""""


def options_of(ctx: typer.Context) -> dict[str, str]:
    """The option of a command for every parameter that has one."""
    found = {p.name: p.opts[0] for p in ctx.command.params if p.name is not None and p.opts[0].startswith("--")}
    return found | {name: found[option] for name, option in _OTHERWISE.items() if option in found}


def in_options(message: str, options: Mapping[str, str]) -> str:
    """The message with options in place of parameters.

    >>> in_options("online batch_size=0 must be more. Use init='zeros', or text=.", {"batch_size": "--batch-size",
    ...            "init": "--init", "text": "--text"})
    "--batch-size 0 must be more. Use --init 'zeros', or --text."
    """
    if not options:
        return message
    if "method_options" in options:
        message = re.sub(_ENTRY, rf"{options['method_options']} \1=\2", message)
    names = "|".join(map(re.escape, options))
    pattern = rf"({_QUOTED})|(?:\bonline )?(?<![\w.-])({names})=(?:True\b)?(?=([^\s.,;:)])?)"

    def spelt(found: re.Match[str]) -> str:
        quoted, name, value = found.groups()
        return str(quoted) if quoted else options[name] + (" " if value else "")

    return re.sub(pattern, spelt, message)
