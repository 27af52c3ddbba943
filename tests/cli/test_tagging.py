"""Train, predict, evaluate and check on sequences, from files to files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.ads import CONSTRAINTS, ads, conll, document, jsonl, refused, run

from tiltfit import TiltTagger, load
from tiltfit.data.readers import read_sequences
from tiltfit.features.vectors import ENCODERS
from tiltfit.report.segments import score_tags

# train ------------------------------------------------------------------------------------------------------------


def test_what_labels_show_can_be_stated_of_the_rest(tagging: Path, tmp_path: Path) -> None:
    rows = ads(12, 2)
    (tmp_path / "some.conll").write_text(conll([(t, y if k < 8 else ["?"] * len(y)) for k, (t, y) in enumerate(rows)]))
    base = ["train", tmp_path / "some.conll", "--unlabelled", "?", "-o", tmp_path / "m.tilt"]
    without = document(*base, "-c", tagging / "c.toml")["constraints"]
    found = document(*base, "-c", tagging / "c.toml", "--constraints-from-labels", 2)["constraints"]
    assert len(without) < len(found)
    assert {c["sentence"] for c in without} < {c["sentence"] for c in found}
    assert "--constraints-from-labels 0 must be" in refused(*base, "--constraints-from-labels", 0)
    assert "the labels are ignored" in refused(*base, "--constraints-from-labels", 2, "--ignore-labels")


def test_training_without_labels_says_what_it_did(tagging: Path) -> None:
    out = (tagging / "train.out").read_text()
    n = sum(len(tokens) for tokens, _ in ads(60, 0))
    assert f"Read 60 sequences of {n} tokens, none labelled." in out
    assert "tokens" in out
    assert "about 80% of transitions" in out
    assert "Saved" in out
    assert type(load(tagging / "m.tilt")) is TiltTagger


def test_labelled_unlabelled_and_half_labelled_sequences_together(tagging: Path, tmp_path: Path) -> None:
    rows = ads(12, 2)
    half = [(t, ["?", *y[1:]]) for t, y in rows[6:]]
    (tmp_path / "some.conll").write_text(conll(rows[:6]))
    (tmp_path / "half.txt").write_text(conll(half, "1 {token} x {tag}").replace("\n\n", "\n \n"))
    base = ["train", "-c", tagging / "c.toml", "-o", tmp_path / "m.tilt"]
    first = document(*base, tmp_path / "some.conll", tagging / "train.conll", "--ignore-labels")
    assert (first["task"], first["rows"], first["labelled"], first["labelled_tokens"]) == ("tag", 66, 0, 0)
    options = ["--token-column", 1, "--label-column", -1, "--unlabelled", "?"]
    found = document(*base, tmp_path / "half.txt", *options)
    assert (found["rows"], found["labelled"]) == (6, 6)
    assert found["labelled_tokens"] == found["tokens"] - 6
    assert sum(found["proportions"].values()) == pytest.approx(1)
    assert {"support", "price", "verdict"} <= set(found["constraints"][0])
    code, out, _ = run(*base, tmp_path / "half.txt", *options)
    assert code == 0
    assert f"6 labelled ({found['labelled_tokens']} tokens)." in out


def test_options_reach_the_tagger(tagging: Path, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("ann\n\nBob Miller\nann\n")
    base = ["train", tagging / "train.conll", "-o", tmp_path / "m.tilt"]
    document(
        *base, "--lexicon", f"people={tmp_path / 'names.txt'}", "--min-count", 2, "--weights", "observed",
        "--boundaries", "--alpha", 0.5, "--gamma", 0.3, "--beta", 0.02, "--scale", "support",
        "--solver", "alternating", "--init", "supervised", "--max-iter", 7, "--tol", 0.01, "--jobs", 2, "--seed", 1,
        "--inference", "exact", "--free-intercepts", "--sharpen", 1.5, "--no-revise",
    )  # fmt: skip
    tagger = load(tmp_path / "m.tilt")
    wanted = {
        "weights": "observed", "boundaries": True, "alpha": 0.5, "gamma": 0.3, "beta": 0.02,
        "scale": "support", "solver": "alternating", "init": "supervised", "max_iter": 7, "tol": 0.01, "n_jobs": 2,
        "random_state": 1, "inference": "exact", "penalize_intercept": False, "sharpen": 1.5, "revise": None,
    }  # fmt: skip
    assert {name: getattr(tagger, name) for name in wanted} == wanted
    assert tagger.features.lexicons == {"people": ("ann", "bob miller")}
    assert tagger.features.min_count == 2
    assert "in=people" in tagger.attribute_names_
    assert tagger.sharpness_ == (1.5, 1.5)
    document(*base, "--sharpen", "none")
    assert load(tmp_path / "m.tilt").sharpen is None
    assert "--sharpen 'much' must be 'auto', None or a positive number" in refused(*base, "--sharpen", "much")
    assert "--weights 'some'" in refused(*base, "--weights", "some")
    assert "--valid-only allows only tags that are well formed" in refused(*base, "--valid-only")


def test_attributes_can_be_hashed(tagging: Path, tmp_path: Path) -> None:
    base = ["train", tagging / "train.conll", "-o", tmp_path / "m.tilt"]
    document(*base, "--hashing", 4096)
    tagger = load(tmp_path / "m.tilt")
    assert tagger.features.hashing == 4096
    assert tagger.coef_.shape[1] == 4096
    assert len(document("predict", tmp_path / "m.tilt", tagging / "test.conll")["predictions"]) == 20
    assert "--hashing 0 must be an integer" in refused(*base, "--hashing", 0)
    assert "--min-count 2 with --hashing 64" in refused(*base, "--hashing", 64, "--min-count", 2)
    assert "--hashing is to label tokens" in refused("train", tagging / "texts.jsonl", "-o", "m.tilt", "--hashing", 64)


def test_vectors_stand_beside_attributes(tagging: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Letters:
        def encode(self, words: list[str]) -> Any:
            return np.array([[word.count(letter) - 0.5 for letter in "aeo"] for word in words])

    monkeypatch.setitem(ENCODERS._entries, "letters", Letters)
    base = ["train", tagging / "train.conll", "-o", tmp_path / "m.tilt"]
    document(*base, "--vectors", "letters")
    tagger = load(tmp_path / "m.tilt")
    assert tagger.features.vectors == "letters"
    assert tagger.attribute_names_[:3].tolist() == ["vector 0", "vector 1", "vector 2"]
    assert len(document("predict", tmp_path / "m.tilt", tagging / "test.conll")["predictions"]) == 20
    assert "There is no encoder 'lettres'" in refused(*base, "--vectors", "lettres")
    assert "--vectors is to label tokens" in refused("train", tagging / "texts.jsonl", "-o", "m.tilt", "--vectors", "a")


def test_lexicons_that_cannot_be_read(tagging: Path, tmp_path: Path) -> None:
    base = ["train", tagging / "train.conll", "-o", tmp_path / "m.tilt", "--lexicon"]
    (tmp_path / "empty.txt").write_text("\n \n")
    assert "must be NAME=FILE" in refused(*base, "names.txt")
    assert "no such file" in refused(*base, f"a={tmp_path / 'none.txt'}")
    assert "empty.txt: the word list is empty" in refused(*base, f"a={tmp_path / 'empty.txt'}")
    words = f"a={tagging / 'c.toml'}"
    assert "'a' twice" in refused(*base, words, "--lexicon", words)
    assert not (tmp_path / "m.tilt").exists()


def test_jsonl_with_groups(tagging: Path, tmp_path: Path) -> None:
    """A column that a constraint names is read without being asked for; without labels it is stated per town."""
    per = '[[constraint]]\nname = "towns"\nlabel = "contact"\nper = { column = "town" }\nat_most = 0.6\n'
    (tmp_path / "c.toml").write_text(CONSTRAINTS + per)
    towns = ["n", "s"] * 10
    (tmp_path / "d.jsonl").write_text(jsonl(ads(20, 3), town=towns))
    base = ["train", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt", "--ignore-labels"]
    found = document(*base, tmp_path / "d.jsonl")
    assert found["constraints"][-1]["groups"] == 2
    assert "CoNLL columns have no names. Say the number of 'town'" in refused(*base, tagging / "train.conll")
    # predict does not need the town, project does.
    (tmp_path / "e.jsonl").write_text(jsonl(ads(4, 4)))
    assert len(document("predict", tmp_path / "m.tilt", tmp_path / "e.jsonl")["predictions"]) == 4
    assert "no column field 'town'" in refused("predict", tmp_path / "m.tilt", tmp_path / "e.jsonl", "--project")
    assert len(document("predict", tmp_path / "m.tilt", tmp_path / "d.jsonl", "--project")["predictions"]) == 20


def test_nothing_to_learn_from(tagging: Path, tmp_path: Path) -> None:
    base = ["train", "-o", tmp_path / "m.tilt", "--task", "tag"]
    (tmp_path / "d.txt").write_text("big\nroom\n")
    assert "no token has a label and there are no constraints" in refused(*base, tmp_path / "d.txt")
    assert "--method em --model hmm --classes" in refused(*base, tmp_path / "d.txt")
    found = document(*base, tmp_path / "d.txt", "--method", "em", "--model", "hmm", "--classes", "a,b")
    assert (found["labelled"], found["classes"]) == (0, ["a", "b"])
    assert "the labels are ignored" in refused(*base, tagging / "train.conll", "--ignore-labels")


# predict ----------------------------------------------------------------------------------------------------------


def test_columns_for_columns(tagging: Path, tmp_path: Path) -> None:
    code, out, err = run("predict", tagging / "m.tilt", tagging / "test.conll")
    assert (code, err) == (0, "")
    (tmp_path / "p.conll").write_text(out)
    found = read_sequences(tmp_path / "p.conll")
    assert found.tokens == [tokens for tokens, _ in ads(20, 1)]
    truth = [tags for _, tags in ads(20, 1)]
    assert found.y is not None
    assert score_tags(truth, found.y).accuracy > 0.9  # type: ignore[arg-type]


def test_jsonl_for_jsonl_and_by_the_name_of_the_output(tagging: Path, tmp_path: Path) -> None:
    code, out, _ = run("predict", tagging / "m.tilt", tagging / "test.jsonl")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == [f"ad{k}" for k in range(20)]
    assert set(rows[0]) == {"id", "tokens", "tags"}
    code, out, _ = run("predict", tagging / "m.tilt", tagging / "test.jsonl", "-o", tmp_path / "p.conll.gz")
    assert code == 0
    assert "Wrote 20 sequences" in out
    columns = gzip.decompress((tmp_path / "p.conll.gz").read_bytes()).decode()
    assert columns == conll([(row["tokens"], row["tags"]) for row in rows]) + "\n"
    found = document("predict", tagging / "m.tilt", tagging / "test.conll", "-o", tmp_path / "p.jsonl")
    assert (found["rows"], found["tokens"]) == (20, sum(len(row["tokens"]) for row in rows))
    again = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [row["tags"] for row in again] == [row["tags"] for row in rows]
    assert again[1]["id"] == "2"


def test_marginals(tagging: Path, tmp_path: Path) -> None:
    code, out, _ = run("predict", tagging / "m.tilt", tagging / "test.conll", "--proba")
    assert code == 0
    tagger = load(tagging / "m.tilt")
    marginals = tagger.predict_marginals([tokens for tokens, _ in ads(20, 1)])
    for line, wanted in zip(out.splitlines(), marginals, strict=True):
        proba = json.loads(line)["proba"]
        np.testing.assert_allclose([[p["contact"], p["size"]] for p in proba], wanted, rtol=1e-5)
    base = ["predict", tagging / "m.tilt", tagging / "test.conll", "--proba", "-o"]
    assert "no place for probabilities" in refused(*base, tmp_path / "p.conll")
    assert "CoNLL columns or JSONL" in refused(*base, tmp_path / "p.csv")
    assert not list(tmp_path.iterdir())


def test_projection_moves_predictions_towards_the_constraints(tagging: Path) -> None:
    base = ["predict", tagging / "m.tilt", tagging / "train.conll", "--proba"]
    plain, tilted = (document(*base, *more)["predictions"] for more in ([], ["--project"]))
    words = [(k, t) for k, (tokens, _) in enumerate(ads(60, 0)) for t, w in enumerate(tokens) if w in ("call", "phone")]
    shares = [np.mean([rows[k]["proba"][t]["contact"] for k, t in words]) for rows in (plain, tilted)]
    assert shares[1] == pytest.approx(0.95, abs=1e-3)  # by the prices of the fit, on its data
    assert abs(shares[1] - 0.95) < 0.5 * abs(shares[0] - 0.95)


def test_standard_input(tagging: Path) -> None:
    code, out, _ = run("predict", tagging / "m.tilt", "-", stdin=b"big x\nroom x\n\ncall x\n")
    assert (code, out) == (0, "big\tsize\nroom\tsize\n\ncall\tcontact\n\n")
    code, out, _ = run("predict", tagging / "m.tilt", "-", stdin=b'{"tokens": ["big", "room"]}\n')
    assert json.loads(out) == {"id": "1", "tokens": ["big", "room"], "tags": ["size", "size"]}


def test_other_columns_than_in_training(tagging: Path, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("1|big|NN\n2|room|NN\n")
    options = ["--token-column", "1", "--delimiter", "|"]
    code, out, _ = run("predict", tagging / "m.tilt", tmp_path / "d.txt", *options)
    assert (code, out) == (0, "big\tsize\nroom\tsize\n\n")


# evaluate ---------------------------------------------------------------------------------------------------------


def test_evaluate_agrees_with_the_report(tagging: Path) -> None:
    truth = [tags for _, tags in ads(20, 1)]
    wanted = score_tags(truth, load(tagging / "m.tilt").predict([tokens for tokens, _ in ads(20, 1)]))
    for name in ("test.conll", "test.jsonl"):
        found = document("evaluate", tagging / "m.tilt", tagging / name)
        assert found["sequences"] == 20
        assert {key: found[key] for key in wanted.to_dict()} == wanted.to_dict()
    code, out, err = run("evaluate", tagging / "m.tilt", tagging / "test.conll")
    assert (code, err) == (0, "")
    assert f"{wanted.tokens} labelled tokens" in out
    assert f"token accuracy {wanted.accuracy:.3f}" in out
    assert f"segment F1 {wanted.segment.f1:.3f}" in out
    row = next(line for line in out.splitlines() if line.startswith("contact"))
    score = wanted.labels["contact"]
    assert row.split()[1:] == [
        f"{score.precision:.3f}", f"{score.recall:.3f}", f"{score.f1:.3f}", f"{score.support}"
    ]  # fmt: skip


def test_labels_missing_in_part_and_labels_that_the_model_does_not_know(tagging: Path, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("big size\nroom ?\n\ncall contakt\nphone contact\n")
    code, out, err = run("evaluate", tagging / "m.tilt", tmp_path / "d.txt", "--unlabelled", "?")
    assert code == 0
    assert "3 labelled tokens (1 without a label left out)" in out
    assert "1 sequence only partly labelled" in out
    assert err == (
        "note: 1 token labelled 'contakt', which the model does not know: counted as mistakes. "
        'Did you mean "contact"?\n'
    )
    (tmp_path / "e.txt").write_text("big NN\nroom NN\n")
    assert "the model knows none of the labels, such as 'NN'" in refused(
        "evaluate", tagging / "m.tilt", tmp_path / "e.txt"
    )
    (tmp_path / "f.txt").write_text("big\nroom\n")
    assert "No token has a label" in refused("evaluate", tagging / "m.tilt", tmp_path / "f.txt")


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    rows = [(tokens, [int(tag == "size") for tag in tags]) for tokens, tags in ads(30, 5)]
    (tmp_path / "d.jsonl").write_text(jsonl(rows))  # type: ignore[arg-type]
    (tmp_path / "d.conll").write_text(conll(rows))  # type: ignore[arg-type]
    found = document("train", tmp_path / "d.jsonl", "-o", tmp_path / "m.tilt", "--classes", "0,1")
    assert (found["task"], found["classes"]) == ("tag", ["0", "1"])
    tags = document("predict", tmp_path / "m.tilt", tmp_path / "d.jsonl")["predictions"][0]["tags"]
    assert {type(tag) for tag in tags} == {int}
    scores = [document("evaluate", tmp_path / "m.tilt", tmp_path / name)["accuracy"] for name in ("d.jsonl", "d.conll")]
    assert scores[0] == scores[1] > 0.95


# check ------------------------------------------------------------------------------------------------------------


def test_check_counts_tokens_pairs_and_sequences(tagging: Path) -> None:
    rows = ads(60, 0)
    tokens = [token for row, _ in rows for token in row]
    found = document("check", tagging / "c.toml", "--data", tagging / "train.conll")
    supports = {c["name"]: c["support"] for c in found["constraints"]}
    assert supports["call"] == tokens.count("call") + tokens.count("phone")
    assert (supports["goes on"], supports["sizes first"]) == (len(tokens) - 60, 60)
    assert (found["unit"], found["rows"], found["valid"]) == ("tokens", len(tokens), True)
    assert found["covered"] == supports["call"] + supports["rooms"]
    trained_report = {e["name"]: e["support"] for e in _report(tagging)}
    assert supports == trained_report
    code, out, _ = run("check", tagging / "c.toml", "--data", tagging / "train.conll")
    assert code == 0
    assert 'about 95% of tokens reading "call" or reading "phone" are contact' in out
    assert f"of {len(tokens):,} tokens" in out


def _report(tagging: Path) -> list[dict[str, Any]]:
    return load(tagging / "m.tilt").constraint_report_.to_dicts()


def test_check_names_words_that_never_occur(tagging: Path, tmp_path: Path) -> None:
    extra = """[[constraint]]
name = "kitchens"
change = true
given = { before = { word = "kichen" } }
at_most = 0.5
[[constraint]]
name = "never"
change = true
given = { first = true }
at_most = 0.5
[[constraint]]
name = "counted"
segments = "contact"
per = "sequence"
at_most = 2
[[constraint]]
name = "among"
change = true
given = { before = { punctuation = true } }
of = { change = true }
at_least = 0.9
[[constraint]]
name = "shares"
given = { word = "," }
distribution = { size = 0.9, contact = 0.1 }
"""
    (tmp_path / "c.toml").write_text(CONSTRAINTS + extra)
    code, out, _ = run("check", tmp_path / "c.toml", "--data", tagging / "test.conll", "--json")
    assert code == 0
    found = json.loads(out)
    assert {c["name"]: c["support"] for c in found["constraints"]} | {"among": 0} == {
        **{c["name"]: c["support"] for c in found["constraints"][:4]},
        "kitchens": 0, "never": 0, "counted": 20, "among": 0, "shares": 20,
    }  # fmt: skip
    assert [w for w in found["warnings"] if "kitchens" in w] == [
        "The constraint 'kitchens' never fires, so it has no effect. Did you mean \"kitchen\"?"
    ]
    assert any("'never' never fires" in w for w in found["warnings"])


def test_check_knows_statistics_of_whole_sequences(tagging: Path, tmp_path: Path) -> None:
    text = CONSTRAINTS + '[[constraint]]\nname = "twice"\nrepeats = true\nat_most = 0.1\n'
    (tmp_path / "c.toml").write_text(text)
    assert run("check", tmp_path / "c.toml", "--data", tagging / "test.conll")[0] == 0
    (tmp_path / "c.toml").write_text(text + '[[constraint]]\nstatistic = "repeat"\nat_most = 0.1\n')
    code, _, err = run("check", tmp_path / "c.toml", "--data", tagging / "test.conll")
    assert code == 1
    assert "There is no statistic 'repeat'" in err
    assert 'Did you mean "repeats"?' in err


def test_causes_of_every_tag(tagging: Path) -> None:
    rows = document("predict", tagging / "m.tilt", tagging / "test.conll", "--why")["predictions"]
    for row in rows:
        assert [len(row["tags"])] == [len(row["why"])]
        for tag, why in zip(row["tags"], row["why"], strict=True):
            assert sum(part["amount"] for part in why["parts"]) == pytest.approx(why["log_odds"], abs=1e-3)
            assert why["sentence"].startswith(f"{tag} rather than ")
    assert json.loads(run("predict", tagging / "m.tilt", tagging / "test.conll", "--why")[1].splitlines()[0])["why"]
    assert "(--why)" in refused("predict", tagging / "m.tilt", tagging / "test.conll", "--why", "-o", "out.conll")
