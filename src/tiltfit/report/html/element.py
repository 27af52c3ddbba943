"""HTML and SVG as values. Markup comes from ``Element`` alone; a string among its children is text, and is escaped.

>>> print(element("p", "a < b, ", element("strong", "<script>"), class_="note"))
<p class="note">a &lt; b, <strong>&lt;script&gt;</strong></p>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Node: TypeAlias = "str | Element | None"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Nothing here loads, runs or sends anything; an iframe has no address but only a page written into it.
_BLOCKS = _words(
    "html head meta title style body header main footer nav section article div h1 h2 h3 h4 p ul ol li dl dt dd table "
    "caption thead tbody tr th td figure figcaption details summary blockquote svg iframe"
)
_INLINE = _words("a span strong em mark small code abbr g path line rect circle polyline polygon text desc")
_EMPTY = frozenset(["meta"])
_ATTRIBUTES = _words(
    "id class lang dir role title scope href tabindex colspan open content name charset http-equiv sandbox srcdoc "
    "viewBox width height preserveAspectRatio focusable x y x1 y1 x2 y2 dx dy cx cy r rx d points transform "
    "text-anchor data-label"
)
_CODE = re.compile(r"</|<!--|@import|url\(", re.IGNORECASE)


@dataclass(frozen=True)
class Element:
    """An element. Names and attributes that no page needs are refused; text may hold anything."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[Node, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in _BLOCKS | _INLINE:
            raise ValueError(f"Pages have no element {self.name!r}.")
        for key, value in self.attributes:
            if key not in _ATTRIBUTES and not key.startswith("aria-"):
                raise ValueError(f"Elements have no attribute {key!r} here.")
            if key == "href" and not re.fullmatch(r"#[\w-]+", value):
                raise ValueError(f"Links go to places on the same page, not to {value!r}.")
        if self.name == "style" and _CODE.search("".join(str(child) for child in self.children)):
            raise ValueError("A style sheet must neither end itself nor load anything.")
        if self.name in _EMPTY and self.children:
            raise ValueError(f"<{self.name}> holds nothing.")

    def __str__(self) -> str:
        return "".join(_parts(self))


def element(tag: str, /, *children: Node, **attributes: str | None) -> Element:
    """Return an element with children; None is left out. ``class_`` is class, ``aria_label`` is aria-label."""
    named = tuple((_key(key), value) for key, value in attributes.items() if value is not None)
    return Element(tag, named, tuple(child for child in children if child is not None))


def _key(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _parts(node: Node) -> Iterator[str]:
    if node is None:
        return
    if isinstance(node, str):
        yield escape(node)
        return
    end = "\n" if node.name in _BLOCKS else ""
    yield f"<{node.name}"
    for key, value in node.attributes:
        yield f' {key}="{escape(value)}"'
    yield ">"
    if node.name in _EMPTY:
        yield end
        return
    for child in node.children:
        # Browsers read a style sheet unescaped. ``Element`` has checked it.
        yield from [child] if node.name == "style" and isinstance(child, str) else _parts(child)
    yield f"</{node.name}>{end}"


# Characters that HTML does not allow, and invisible ones: C0 except tab and line feed, DEL, C1, halves of surrogate
# pairs, and noncharacters.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17))
    + "]"
)
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_PICTURES = 0x2400  # the block of pictures of control characters
_DELETE = "\x7f"


def escape(text: str) -> str:
    """Return ``text`` for use between tags or in a quoted attribute.

    >>> escape("<b> & \\"it's\\" \\x00\\ud800")
    '&lt;b&gt; &amp; &quot;it&#39;s&quot; ␀�'
    """
    return visible(text).translate(_ENTITIES)


def visible(text: str) -> str:
    """Return ``text`` without characters that no page may hold: control characters become pictures, others �."""
    return _ODD.sub(_stand_in, text.replace("\r\n", "\n").replace("\r", "\n"))


def _stand_in(found: re.Match[str]) -> str:
    character = found[0]
    if character < " ":
        return chr(_PICTURES + ord(character))
    return "␡" if character == _DELETE else "\ufffd"
