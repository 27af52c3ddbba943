"""``--method-option NAME=VALUE``: options of methods, as they are typed in a shell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from tiltfit.cli.training_options import training_option
from tiltfit.errors import DataError, did_you_mean

MethodOptions = Annotated[
    list[str] | None, training_option("Option of the method, such as tau=0.5; repeatable.", metavar="NAME=VALUE")
]
OptionsOfMethods = Annotated[
    list[str] | None,
    training_option("Option of one of the methods, such as codl.tau=0.5; repeatable.", metavar="METHOD.NAME=VALUE"),
]
_WORDS = {"true": True, "false": False, "none": None}


def method_options(given: Iterable[str]) -> dict[str, Any]:
    """What ``--method-option`` says, by name. What no option of the method is, the estimator refuses by name.

    >>> method_options(["tau=0.5", "top_k=3", "rho=none", 'proportions={"a": 0.3, "b": 0.7}'])
    {'tau': 0.5, 'top_k': 3, 'rho': None, 'proportions': {'a': 0.3, 'b': 0.7}}
    """
    found: dict[str, Any] = {}
    for option in given:
        name, sign, value = (part.strip() for part in option.partition("="))
        if not name or not sign or not value:
            raise DataError(f"--method-option {option!r} must be NAME=VALUE, such as --method-option tau=0.5.")
        if name in found:
            raise DataError(f"--method-option names {name!r} twice. Give it once.")
        found[name] = _value(name, value)
    return found


def options_of_methods(given: Iterable[str], methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The same where several methods are compared: ``METHOD.NAME=VALUE``, by method.

    >>> options_of_methods(["codl.tau=0.5", "codl.top_k=3", "entropy.strength=2"], ["ap", "codl", "entropy"])
    {'codl': {'tau': 0.5, 'top_k': 3}, 'entropy': {'strength': 2}}
    """
    known = list(methods)
    texts: dict[str, list[str]] = {}
    for option in given:
        method, dot, rest = option.partition("=")[0].partition(".")
        if not dot or not method or not rest:
            raise DataError(
                f"--method-option {option!r} must say whose it is: METHOD.NAME=VALUE, such as codl.tau=0.5."
            )
        if method not in known:
            raise DataError(
                f"--method-option {option!r} is of a method that is not compared ({', '.join(known)})."
                f"{did_you_mean(method, known)}"
            )
        texts.setdefault(method, []).append(option.removeprefix(f"{method}."))
    return {method: method_options(options) for method, options in texts.items()}


def _value(name: str, text: str) -> Any:
    """A number, a truth value, none, a JSON object, or else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise DataError(
                f'--method-option {name}={text!r:.60} is no JSON object, such as {{"a": 0.3, "b": 0.7}}: {error}.'
            ) from error
        assert isinstance(found, Mapping)
        return dict(found)
    return text
