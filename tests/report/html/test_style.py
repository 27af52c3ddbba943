"""The style sheet: enough contrast in both themes, and nothing from elsewhere."""

from __future__ import annotations

import colorsys
import re

import pytest

from tiltfit.report.html.page import style
from tiltfit.report.html.sequences import COLOURS

LIGHT, DARK = re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
TEXTS = ["text", "quiet", "projected", "good", "fair", "bad"]


def variables(theme: str) -> dict[str, str]:
    found = dict(re.findall(r"--([\w-]+): ([^;]+);", LIGHT))
    return found | (dict(re.findall(r"--([\w-]+): ([^;]+);", DARK)) if theme == "dark" else {})


def luminance(colour: tuple[float, ...]) -> float:
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """Of WCAG 2: (L₁ + 0.05)/(L₂ + 0.05), the lighter above."""
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rgb(value: str) -> tuple[float, ...]:
    return tuple(int(value[k : k + 2], 16) / 255 for k in (1, 3, 5))


def share(value: str) -> float:
    return float(value.rstrip("%")) / 100


def test_black_on_white_is_21() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21.0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("back", ["back", "raised"])
@pytest.mark.parametrize("name", TEXTS)
def test_texts_can_be_read(theme: str, back: str, name: str) -> None:
    colours = variables(theme)
    assert contrast(rgb(colours[name]), rgb(colours[back])) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_of_charts_can_be_told_from_the_page(theme: str) -> None:
    colours = variables(theme)
    for name in ("projected", "model", "labels", "target"):
        assert contrast(rgb(colours[name]), rgb(colours["back"])) >= 3.0, name


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_on_every_tint_can_be_read(theme: str) -> None:
    colours = variables(theme)
    hues = [int(h) for h in re.findall(r"--hue: (\d+)", style())]
    assert len(set(hues)) == COLOURS
    for hue in hues:
        tint = colorsys.hls_to_rgb(hue / 360, share(colours["tint"]), share(colours["tint-strength"]))
        assert contrast(rgb(colours["text"]), tint) >= 7.0, hue
    assert contrast(rgb(colours["text"]), rgb(colours["mark"])) >= 4.5
