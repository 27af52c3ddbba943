"""Text that a browser shows as it is: nothing in it is read as markup, and nothing is invalid."""

from __future__ import annotations

import re

# Characters that HTML does not allow, and those that are told from nothing only by a picture: C0 but tab and line feed,
# DEL, C1, halves of surrogate pairs, and what Unicode calls no character.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17))
    + "]"
)
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_PICTURES = 0x2400  # where Unicode keeps its pictures of control characters
_DELETE = "\x7f"


def escape(text: str) -> str:
    """``text`` between tags or in a quoted attribute.

    >>> escape("<b> & \\"it's\\" \\x00\\ud800")
    '&lt;b&gt; &amp; &quot;it&#39;s&quot; ␀�'
    """
    return visible(text).translate(_ENTITIES)


def visible(text: str) -> str:
    """``text`` without what no page may hold: control characters become pictures of themselves, other odd ones �."""
    return _ODD.sub(_stand_in, text.replace("\r\n", "\n").replace("\r", "\n"))


def _stand_in(found: re.Match[str]) -> str:
    character = found[0]
    if character < " ":
        return chr(_PICTURES + ord(character))
    return "␡" if character == _DELETE else "\ufffd"
