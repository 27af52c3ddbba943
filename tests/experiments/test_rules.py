"""Rules and sources as conditions that the model does not see, on generated data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.entities import Marked, entities
from experiments.rules import voted_texts

from tiltfit import TiltClassifier, TiltTagger
from tiltfit.errors import DataFileError
from tiltfit.report.segments import score_tags


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


TEXTS = [
    {"split": "train", "label": "spam", "text": "win a prize", "votes": [[1, "spam"], [2, "ham"]]},
    {"split": "train", "label": "ham", "text": "see you", "votes": [[2, "ham"]]},
    {"split": "train", "label": "ham", "text": "hello", "votes": []},
    {"split": "test", "label": "ham", "text": "unseen", "votes": [[3, "ham"]]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    return tmp_path


def test_every_rule_that_votes_here_is_one_statement(folder: Path) -> None:
    write(folder / "rules" / "sms.jsonl.gz", TEXTS)
    train = voted_texts("sms", "train")
    first, second = train.constraints()
    assert [c.name for c in (first, second)] == ["rule 1: spam", "rule 2: ham"]
    fires = [[c.given.function(text) for text in train.texts] for c in (first, second)]  # type: ignore[union-attr]
    assert fires == [[True, False, False], [True, True, False]]
    assert "unseen" not in train.texts


def test_votes_in_columns_mean_the_same(folder: Path) -> None:
    columns = [{**row, "weak_labels": [-1, *[dict(row["votes"]).get(k, -1) for k in (1, 2, 3)]]} for row in TEXTS]
    for row in columns:
        del row["votes"]
    write(folder / "rules" / "sms.jsonl.gz", TEXTS)
    write(folder / "youtube" / "youtube.jsonl.gz", columns)
    assert voted_texts("youtube", "train").votes == voted_texts("sms", "train").votes


@pytest.mark.filterwarnings("ignore::tiltfit.errors.TiltfitWarning")
def test_the_model_of_rules_sees_words_alone(folder: Path) -> None:
    write(folder / "rules" / "sms.jsonl.gz", TEXTS)
    train = voted_texts("sms", "train")
    fitted = TiltClassifier(train.constraints(), classes=["ham", "spam"]).fit(list(train.texts))
    assert set(fitted.feature_names_in_) == {word for text in train.texts for word in text.split()}


@pytest.mark.parametrize("read", [lambda: voted_texts("trec", "train"), lambda: entities("ncbi", "train")])
def test_absent_data_are_named(folder: Path, read: Any) -> None:
    with pytest.raises(DataFileError, match="TILTFIT_DATA"):
        read()


def sentence(text: str, found: list[Any], split: str = "train", **votes: list[Any]) -> dict[str, Any]:
    return {"split": split, "tokens": text.split(), "entities": found, "votes": votes}


SENTENCES = [
    sentence("the acute flu .", [[1, 3, "D"]], dictionary=[[2, 3, "D"]]),
    sentence("flu again .", [[0, 1, "D"]], dictionary=[[0, 1, "D"]], noise=[[1, 2, "D"]]),
    sentence("unseen", [], "test"),
]


@pytest.fixture
def marked(folder: Path) -> Path:
    write(folder / "entities" / "ncbi.jsonl.gz", SENTENCES)
    listed = {"sources": ["dictionary", "noise"], "recommended": ["dictionary"]}
    (folder / "entities" / "ncbi-sources.json").write_text(json.dumps(listed), encoding="utf-8")
    return folder


def test_tokens_know_their_marks_and_sources_are_the_recommended_ones(marked: Path) -> None:
    train = entities("ncbi", "train")
    assert train.tags == (("O", "B-D", "I-D", "O"), ("B-D", "O", "O"))
    assert train.classes == ["B-D", "I-D", "O"]
    says, silent = train.constraints()
    for constraint, fires in ((says, [0, 0, 1, 0, 1, 0, 0]), (silent, [1, 1, 0, 1, 0, 1, 1])):
        assert constraint.given is not None
        assert constraint.given.fires(train.X).tolist() == list(map(bool, fires))
    assert [c.relation.numbers for c in (says, silent)] == [(0.9,), (0.97,)]


@pytest.mark.filterwarnings("ignore::tiltfit.errors.TiltfitWarning")
def test_the_model_of_entities_sees_the_texts_of_tokens_alone(marked: Path) -> None:
    train = entities("ncbi", "train")
    fitted = TiltTagger(train.constraints(), classes=train.classes).fit(train.X)
    plain = [[str(token) for token in sentence] for sentence in train.sentences]
    for a, b in zip(fitted.predict_marginals(train.X), fitted.predict_marginals(plain), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_marked_token_is_its_text() -> None:
    token = Marked("flu", {"dictionary": "B-D"})
    assert (token, hash(token)) == ("flu", hash("flu"))


def test_entities_are_judged_as_wholes() -> None:
    truth, predicted = [["B-D", "I-D", "O", "B-D"]], [["B-D", "O", "O", "B-D"]]
    assert score_tags(truth, predicted).segment.f1 == pytest.approx(0.5)
