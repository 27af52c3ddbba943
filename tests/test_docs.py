"""What the pages promise: their links lead somewhere, the reference is complete, and examples that fail are seen.

The examples themselves run when the pages are built (``make docs``).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs._extensions.page_examples import blocks, commands, failures

import tiltfit
from tiltfit.language.expect import expect

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])


def anchors(page: Path) -> set[str]:
    """What a link into the page may name: its headings, as GitHub and the build spell them."""
    prose = re.sub(r"^(```+).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*?) *$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """Targets of links and pictures that are no addresses."""
    prose = re.sub(r"^(```+).*?^\1|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [target for target in found if not re.match(r"[a-z]+:", target)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there), target


def test_links_are_found() -> None:
    assert "docs/defaults.md" in links(ROOT / "README.md")
    assert "a-few-words-and-long-fields" in anchors(ROOT / "docs" / "semi-supervised.md")


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/howto/*.md")), ids=lambda page: page.name)
def test_figures_that_a_page_quotes_are_those_of_the_page_it_links_to(page: Path) -> None:
    prose = re.sub(r"^(```+).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    linked = {(page.parent / target.partition("#")[0]).resolve() for target in links(page)}
    known = " ".join(there.read_text(encoding="utf-8") for there in linked if there.suffix == ".md")
    for figure in re.findall(r"(?<![\d.])0?(\.\d{3})(?!\d)", prose):
        assert f"0{figure}" in known, figure


def test_every_public_name_is_in_the_reference() -> None:
    said = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    named = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)", said, flags=re.MULTILINE))
    assert set(tiltfit.__all__) - named == {"__version__"}
    for event in (name for name in dir(expect) if not name.startswith("_")):
        assert f"`expect.{event}(" in said, event


def test_every_command_is_in_the_pages() -> None:
    from tiltfit.cli.main import app

    said = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"tiltfit {name}" in said, name


PAGE = """# A page

```pycon
>>> 1 + 1
{two}
```

Words, and ``` in them.

```python
no = example(of_mine
```

```console
$ echo 'one' \\
  > out.txt
$ cat out.txt
{one}
$ false || exit {status}
```
"""


def test_examples_that_hold_are_no_news() -> None:
    assert failures(PAGE.format(two=2, one="one", status=0), "page") == []


@pytest.mark.parametrize(
    ("wrong", "line", "said"),
    [
        ({"two": 3}, 4, "Expected:|Differences"),
        ({"one": "two"}, 17, "instead of"),
        ({"status": 7}, 19, "exits with 7"),
    ],
)
def test_an_example_that_fails_is_told_with_its_line(wrong: dict[str, object], line: int, said: str) -> None:
    (failure,) = failures(PAGE.format(**({"two": 2, "one": "one", "status": 0} | wrong)), "page")
    assert failure.line == line
    assert re.search(said, failure.message)


def test_a_warning_in_an_example_is_a_failure() -> None:
    page = "```pycon\n>>> import warnings\n>>> warnings.warn('old')\n```\n"
    (failure,) = failures(page, "page")
    assert "UserWarning: old" in failure.message


def test_files_of_a_page_are_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    python = "```pycon\n>>> import pathlib\n>>> _ = pathlib.Path('a.txt').write_text('x')\n```\n"
    page = f"{python}```console\n$ cat a.txt\nx\n```\n"
    assert failures(page, "page") == []
    assert list(tmp_path.iterdir()) == []


def test_blocks_and_commands() -> None:
    found = list(blocks("````md\n```\ninner\n```\n````\n```sh\nls\n```\n"))
    assert found == [(2, "md", ["```", "inner", "```"]), (7, "sh", ["ls"])]
    assert list(commands(["$ a", "x", "", "$ b"])) == [(0, "a", "x\n\n"), (3, "b", "")]
