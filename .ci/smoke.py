"""Try an installed tiltfit, away from its sources: what comes with it, both estimators, files, the command line."""

from __future__ import annotations

import json
import subprocess
import tempfile
from importlib.metadata import files
from importlib.resources import as_file
from importlib.resources import files as resources
from pathlib import Path

import tiltfit
from tiltfit import TiltClassifier, TiltTagger, expect, load, word


def main() -> None:
    installed = {str(path) for path in files("tiltfit") or ()}
    assert "site-packages" in tiltfit.__file__, tiltfit.__file__
    assert {"tiltfit/py.typed", "tiltfit/report/html/style.css"} <= installed
    assert not [name for name in installed if name.startswith(("tests", "benchmarks", "experiments"))]
    with tempfile.TemporaryDirectory() as folder:
        estimators(Path(folder))
        commands(Path(folder))


def estimators(folder: Path) -> None:
    texts = ["puck and goal", "bat and ball", "puck on ice", "a bat"] * 5
    said = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]
    classifier = TiltClassifier(said).fit(texts)
    assert list(classifier.predict(["the ice and the goal", "a ball"])) == ["hockey", "baseball"]
    classifier.save(folder / "m.tilt")
    assert (load(folder / "m.tilt").predict_proba(texts) == classifier.predict_proba(texts)).all()

    tagger = TiltTagger([expect("number", given=tiltfit.regex("[0-9]+")).about(0.95)], classes=["number", "other"])
    tagger.fit([["call", "555", "now"], ["room", "12"]] * 5)
    assert tagger.predict([["room", "555"]])[0][1] == "number"


def commands(folder: Path) -> None:
    def run(*arguments: str) -> str:
        done = subprocess.run(["tiltfit", *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    assert tiltfit.__version__ in run("--version")
    json.loads(run("schema"))
    texts = ["my invoice is wrong", "the parcel is late", "an invoice again", "where is my parcel"] * 5
    (folder / "d.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    with as_file(resources("tiltfit") / "demo" / "tickets.toml") as constraints:
        run("check", str(constraints))
        run("train", "d.jsonl", "-c", str(constraints), "-o", "t.tilt")
    assert "billing" in run("predict", "t.tilt", "d.jsonl")
    run("report", "t.tilt", "--data", "d.jsonl", "-o", "r.html")


main()
