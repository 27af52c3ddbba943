"""What notebooks show: a few elements with a style of their own, in the colours of the notebook around them."""

from __future__ import annotations

from tiltfit.markup.element import Node, element

# Only below .tiltfit, so that nothing else in the notebook changes; only currentColor, so that any theme does.
_STYLE = """
.tiltfit { font-size: .9em; line-height: 1.45; max-width: 72rem; overflow-x: auto }
.tiltfit table { border-collapse: collapse; margin: .5em 0 }
.tiltfit caption { caption-side: top; text-align: left; font-weight: 600; padding: .2em .6em .4em 0 }
.tiltfit th, .tiltfit td { text-align: left; vertical-align: top; padding: .3em .9em .3em 0; border: 0;
  background: none; border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent) }
.tiltfit thead th { font-weight: 600; white-space: nowrap }
.tiltfit tbody th { font-weight: normal }
.tiltfit .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.tiltfit .note { display: block; opacity: .75 }
"""


def fragment(*nodes: Node) -> str:
    """HTML to put into a page of somebody else's."""
    return str(element("div", element("style", _STYLE), *nodes, class_="tiltfit"))
