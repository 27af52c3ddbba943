"""Everything that the package adds, used as tiltfit's own: ``python try_extras.py``.

The second half runs in a process that never imports ``tiltfit_extras`` by itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TEXTS = [
    "the goalie stopped the puck and the crowd went wild over there",
    "puck drop",
    "a bat and a ball",
    "the pitcher threw the ball to the catcher who dropped it again",
    "goalie saves",
    "the bat broke when the batter hit the very first ball hard",
]
SENTENCES = [["Smith", "J", "On", "tilting"], ["Doe", "A", "Fits"], ["Lee", "On", "labels", "and", "more"]]
RULES = """
version = 1
classes = ["baseball", "hockey"]

[[constraint]]
label = "hockey"
given = { all = [{ word = "puck" }, { not = { longer_than = 5 } }] }
about = 0.9
penalty = "huber"

[[constraint]]
label = "baseball"
given = { longer_than = 8 }
about = 0.6
"""


def write(folder: Path) -> None:
    """Fit, report and save, with the classes of the extension."""
    from tiltfit_extras import ChangesBack, LongerThan, StepsBack

    from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, expect, word

    said = ConstraintSet.from_toml(RULES)
    assert said[0].given == word("puck") & ~LongerThan(5)
    assert ConstraintSet.from_toml(said.to_toml()) == said
    print(said)
    classifier = TiltClassifier(said, method="continuation", method_options={"stiffness": 5.0}).fit(TEXTS)
    print(classifier.constraint_report_)
    classifier.save(folder / "classifier.tilt")
    tagger = TiltTagger(
        [
            expect("author", given=~LongerThan(3) & word("Smith")).about(0.9, penalty="huber"),
            expect("title", given=LongerThan(0).before).about(0.6),
            expect.event(ChangesBack()).at_most(0.2),
        ],
        classes=["author", "title"],
        random_state=0,
    )
    print(tagger.fit(SENTENCES).constraint_report_)
    tagger.save(folder / "tagger.tilt")
    scaled = TiltClassifier(said, model="scaled", random_state=0).fit(TEXTS)
    scaled.save(folder / "scaled.tilt")
    (folder / "scaled.json").write_text(
        json.dumps([scaled.predict_proba(TEXTS).tolist(), scaled.project(TEXTS).tolist()])
    )
    chain = TiltTagger(
        [
            expect("author", given=word("Smith") | word("Doe")).about(0.9),
            expect("title", given=word("On")).about(0.9),
            expect.event(StepsBack(("author", "title"))).at_most(0.1),
        ],
        classes=["author", "title"],
        model="scaled_chain",
        random_state=0,
    )
    print(chain.fit(SENTENCES).constraint_report_)
    chain.save(folder / "chain.tilt")


def read(folder: Path) -> None:
    """Load, predict, project and read files in a process that does not import the extension."""
    from tiltfit import ConstraintSet, load

    assert "tiltfit_extras" not in sys.modules
    classifier, tagger = load(folder / "classifier.tilt"), load(folder / "tagger.tilt")
    assert len(classifier.project(TEXTS)) == len(TEXTS)
    assert len(tagger.project(SENTENCES)) == len(SENTENCES)
    print(classifier.predict(TEXTS), tagger.predict(SENTENCES)[0])
    scaled, chain = load(folder / "scaled.tilt"), load(folder / "chain.tilt")
    p, q = json.loads((folder / "scaled.json").read_text())
    np.testing.assert_array_equal(scaled.predict_proba(TEXTS), p)
    np.testing.assert_array_equal(scaled.project(TEXTS), q)
    assert len(chain.predict(SENTENCES)) == len(chain.project(SENTENCES)) == len(SENTENCES)
    assert "at most 0.2 changes straight back" in str(tagger.constraint_report_)
    assert str(ConstraintSet.from_toml(RULES)).endswith("documents of more than 8 words are baseball")


def names() -> None:
    """The method and the JSON schema are known in a process that does not import the extension."""
    from tiltfit import TiltClassifier, expect, word
    from tiltfit.language.schema import constraint_schema

    stated = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]
    assert "puck" in str(TiltClassifier(stated, method="continuation").fit(TEXTS).constraint_report_)

    found = constraint_schema()["$defs"]
    assert {"changes_back", "steps_back"} <= found["constraint"]["properties"].keys()
    assert "huber" in found["constraint"]["properties"]["penalty"]["enum"]
    assert any("longer_than" in one["properties"] for one in found["condition"]["oneOf"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        {"read": lambda: read(Path(sys.argv[2])), "names": names}[sys.argv[1]]()
    else:
        with tempfile.TemporaryDirectory() as made:
            write(Path(made))
            for part in ("read", "names"):
                subprocess.run([sys.executable, __file__, part, made], check=True)
        print("everything works")
