"""Files of statements in commands: tables, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_commands import document, documents, refused, run, write

from tiltfit import ConstraintSet, load

TABLE = "label,word,share\nhockey,puck,90%\nbaseball,bat,0.9\n"


def test_a_table_is_taken_wherever_a_file_is(tmp_path: Path) -> None:
    table, toml, data, model = (tmp_path / name for name in ("s.csv", "s.toml", "d.jsonl", "m.tilt"))
    table.write_text(TABLE)
    write(data, documents(40, 0), "label")
    assert run("train", data, "-c", table, "-o", model)[0] == 0
    said = ConstraintSet.read(table)
    assert [c.title for c in load(model).constraints_] == [c.title for c in said]
    assert run("convert", "statements", table, "-o", toml)[0] == 0
    assert ConstraintSet.read(toml) == said
    checks = [document("check", path, data) | {"file": ""} for path in (table, toml)]
    assert checks[0] == checks[1]
    table.write_text(f"{TABLE}hockey,ice,most\n")
    for command in (["train", data, "-c", table, "-o", model], ["convert", "statements", table]):
        assert f"{table}, line 4: the share 'most' must be" in refused(*command)


def test_an_unquoted_label_is_shown_with_what_to_write(tmp_path: Path) -> None:
    data, rules = tmp_path / "d.jsonl", tmp_path / "c.toml"
    write(data, documents(4, 0))
    rules.write_text("[[constraint]]\nlabel = ice \x1b[31m hockey\nabout = 0.9\n")
    for command in (["train", data, "-c", rules, "-o", tmp_path / "m.tilt"], ["check", rules]):
        code, _, err = run(*command)
        assert code in (1, 2)
        first, line, caret = err.splitlines()
        assert first.startswith(f"error: {rules}: line 2: this is not valid TOML: ")
        assert (line, caret) == ("  2 | label = ice  [31m hockey", "    |         ^")
    code, out, _ = run("check", rules, "--json")
    assert (code, json.loads(out)["valid"]) == (1, False)
