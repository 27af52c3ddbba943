"""Small pieces of English that events, conditions and relations share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal


def quote(text: str) -> str:
    """In double quotes, with what cannot be printed escaped.

    >>> print(quote("puck"), quote("two\\nlines"))
    "puck" "two\\nlines"
    """
    if text.isprintable():
        return f'"{text}"'
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else json.dumps(c)[1:-1] for c in text) + '"'


def show(name: object) -> str:
    """A label or column name as it is, or quoted if it would get lost in a sentence."""
    word = str(name)
    plain = word.isprintable() and word == word.strip() and word != ""
    return word if plain else quote(word)


def join(parts: Sequence[str], conjunction: str) -> str:
    """
    >>> join(["a"], "or"), join(["a", "b"], "or"), join(["a", "b", "c"], "and")
    ('a', 'a or b', 'a, b and c')
    """
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def percent(share: float) -> str:
    """A share in percent; digits that only rounding made are dropped, digits that tell it from 0 or 1 are kept.

    >>> percent(0.9), percent(0.07), percent(0.333), percent(1 / 3), percent(0.005), percent(0.99995), percent(1.0)
    ('90%', '7%', '33.3%', '33.3%', '0.5%', '99.995%', '100%')
    """
    shift = Decimal(repr(share)) * 100
    edge = min(share, 1 - share)
    if _places(shift) > 4 and edge > 0:
        if share < 1e-8:
            return f"{100 * share:.3g}%"
        shift = round(shift, max(1, 1 - math.floor(math.log10(100 * edge))))
    return f"{_plain(shift)}%"


def rough_percent(share: float) -> str:
    """A share that was counted, with the digits that matter.

    >>> rough_percent(0.5), rough_percent(0.0421), rough_percent(0.0004), rough_percent(0.0)
    ('50%', '4.2%', '<0.1%', '0%')
    """
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"


def amount(value: float) -> str:
    """A count without spurious digits.

    >>> amount(1.0), amount(0.05), amount(2 / 3), amount(12345.0)
    ('1', '0.05', '0.667', '12345')
    """
    exact = Decimal(repr(value))
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-6:
        return f"{value:.3g}"
    if _places(exact) <= 4:
        return _plain(exact)
    return _plain(round(exact, max(2, 2 - math.floor(math.log10(abs(value))))))


def give_or_take(deviation: float, number: Callable[[float], str]) -> str:
    """A deviation from a share (``number``: ``percent``), in points, or from a count (``amount``).

    >>> give_or_take(0.05, percent), give_or_take(0.01, percent), give_or_take(0.5, amount)
    ('give or take 5 points', 'give or take 1 point', 'give or take 0.5')
    """
    if number is not percent:
        return f"give or take {number(deviation)}"
    points = percent(deviation).removesuffix("%")
    return f"give or take {points} point{'' if points == '1' else 's'}"


def ordinal(k: int) -> str:
    """
    >>> [ordinal(k) for k in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '111th']
    """
    suffix = "th" if 10 <= k % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{suffix}"


def _places(value: Decimal) -> int:
    return max(0, -int(value.normalize().as_tuple().exponent))


def _plain(value: Decimal) -> str:
    whole = f"{value:f}"
    return whole.rstrip("0").rstrip(".") if "." in whole else whole
