"""The schema accepts what the reader accepts, and refuses what it can of the rest."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.cli.ads import run
from tests.language.strategies import constraints
from tests.language.test_toml import REFUSED

from tiltfit.errors import ConstraintError, ConstraintFileError
from tiltfit.language.conditions import Condition
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.document import to_document
from tiltfit.language.events import Event
from tiltfit.language.relations import Relation
from tiltfit.language.schema import constraint_schema
from tiltfit.language.toml import loads

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, of the extra test")
ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = jsonschema.Draft202012Validator(constraint_schema())
# What only the reader can tell: whether a pattern compiles, and how long an integer may be.
READER_ONLY = {"bad regex", "huge label"}


def problems(document: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document)]


def examples() -> dict[str, str]:
    """Every text of a constraint file in the repository that the reader accepts, by where it stands."""
    found: dict[str, str] = {str(p.relative_to(ROOT)): p.read_text() for p in ROOT.glob("src/tiltfit/demo/*.toml")}
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        found |= {f"{page.name}[{i}]": block for i, block in enumerate(blocks)}
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("src/**/*.py"), *ROOT.glob("e*/**/*.py")]:
        source = path.read_text(encoding="utf-8")
        if "[[constraint]]" in source:
            texts = [n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant)]
            found |= {f"{path.name}[{i}]": t for i, t in enumerate(texts) if isinstance(t, str)}
    return {place: text for place, text in found.items() if "[[constraint]]" in text and accepted(text)}


def accepted(text: str) -> bool:
    try:
        return len(loads(text)) > 0
    except (ConstraintFileError, ConstraintError):
        return False


EXAMPLES = examples()


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(constraint_schema())


def test_examples_were_found() -> None:
    assert {"src/tiltfit/demo/tickets.toml", "src/tiltfit/demo/citations.toml", "README.md[0]"} <= set(EXAMPLES)
    assert len(EXAMPLES) > 9


@pytest.mark.parametrize("place", EXAMPLES)
def test_every_example_of_the_repository_is_valid(place: str) -> None:
    assert problems(tomllib.loads(EXAMPLES[place])) == []


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(constraints())
def test_whatever_can_be_written_is_valid(constraint: Constraint) -> None:
    assert problems({"version": 1, "constraint": [to_document(constraint)]}) == []
    assert problems(tomllib.loads(ConstraintSet((constraint,)).to_toml())) == []


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in READER_ONLY])
def test_what_the_reader_refuses(name: str) -> None:
    text = f"[[constraint]]\n{REFUSED[name][0]}\n"
    assert problems(tomllib.loads(text)) != []
    with pytest.raises(ConstraintFileError):
        loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "version = 2",
        "version = true",
        'version = "1"',
        "constrain = []",
        "constraint = 3",
        "constraint = [1]",
        "classes = 'a'",
        "classes = []",
        "classes = [[1]]",
        '[[constraint]]\nlabel = "a"\nabout = -0.5',
        '[[constraint]]\nlabel = "a"\nbetween = [0.5, 50]',
        '[[constraint]]\nlabel = ""\nabout = 0.5\nname = ""',
        '[[constraint]]\nlabel = "a"\nabout = 0.5\nslack = 0.1',
        '[[constraint]]\nlabel = "a"\nat_most = 0.5\nslack = -1',
        '[[constraint]]\nlabel = "a"\nabout = 0.5\nbeta = 0',
        '[[constraint]]\nlabel = "a"\ndistribution = { a = 1 }',
        '[[constraint]]\ndistribution = { a = 1 }\nof = { label = "a" }',
        "[[constraint]]\ndistribution = {}",
        '[[constraint]]\nlabel = "a"\nabout = 0.5\nof = { change = true, stay = true }',
        '[[constraint]]\nsegments = "a"\nof = { change = true }\nabout = 2',
        '[[constraint]]\nlabel = "a"\nabout = 0.5\ngiven = { column = "x", feature = "y", above = 3 }',
        '[[constraint]]\nlabel = "a"\nabout = 0.5\ngiven = { feature = "y", equals = 3 }',
        '[[constraint]]\nstatistic = { labels = "a" }\nabout = 2',
        "[[constraint]]\nrepeats = false\nabout = 2",
    ],
)
def test_what_both_refuse(text: str) -> None:
    assert problems(tomllib.loads(text)) != []
    with pytest.raises((ConstraintFileError, ConstraintError)):
        loads(text)


def test_counts_may_be_more_than_one() -> None:
    counted, shared = 'segments = "a"\nabout = 3\nwithin = 1.5', 'segments = "a"\nof = { segments = "b" }\nabout = 1'
    text = f"[[constraint]]\n{counted}\n[[constraint]]\n{shared}\n"
    assert problems(tomllib.loads(text)) == []
    assert len(loads(text)) == 2


def test_every_key_that_is_read_stands_in_it() -> None:
    definitions = constraint_schema()["$defs"]
    assert {*Event.registry, *Relation.registry} <= set(definitions["constraint"]["properties"])
    assert {c["required"][0] for c in definitions["condition"]["oneOf"]} == set(Condition.registry)


def test_the_command_prints_it() -> None:
    code, out, err = run("schema")
    assert (code, err) == (0, "")
    assert json.loads(out) == constraint_schema()


def test_the_page_of_constraint_files_has_every_key() -> None:
    page = (ROOT / "docs" / "constraint-files.md").read_text(encoding="utf-8")
    schema = constraint_schema()
    keys = {*schema["properties"], *schema["$defs"]["constraint"]["properties"]}
    for shape in schema["$defs"]["condition"]["oneOf"]:
        keys |= shape["properties"].keys()
    assert sorted(key for key in keys if f"`{key}`" not in page) == []
