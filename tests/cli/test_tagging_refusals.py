"""What the commands refuse of sequences, and how they tell documents from sequences."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.ads import CONSTRAINTS, ads, conll, document, refused, run

from tiltfit.cli.tasks import located
from tiltfit.data.readers import SequenceDataset
from tiltfit.errors import DataError
from tiltfit.samples.task import SEQUENCES

# Bad input --------------------------------------------------------------------------------------------------------

BAD = {
    "ragged": ("d.conll", "big\tsize\nroom\n", r"d.conll, line 2: 1 columns here, but 2 in line 1"),
    "blank token": ("d.conll", "big\tsize\n \tsize\n", "d.conll, line 2: the token (column 0) is blank"),
    "control character": ("d.conll", "big\tsize\nro\x07om\tsize\n", "line 2: column 0 is the token 'ro\\x07om'"),
    "no sequences": ("d.conll", "\n\n", "no sequences"),
    "empty sequence": ("d.jsonl", '{"tokens": ["a"]}\n{"tokens": []}\n', "line 2: the field 'tokens' is an empty"),
    "control in JSON": ("d.jsonl", '{"tokens": ["a\\u0000"]}\n', "d.jsonl, line 1: token 0 of the field 'tokens'"),
    "lengths": ("d.jsonl", '{"tokens": ["a", "b"], "tags": ["size"]}\n', "d.jsonl, line 1: 2 tokens, but 1 tags"),
    "number": ("d.jsonl", '{"tokens": ["a", 5]}\n', "token 1 of the field 'tokens' is a number, not a string"),
    "one text": ("d.jsonl", '{"tokens": "a b"}\n', "not a list of tokens. Split the text"),
    "unknown label": ("d.conll", "big\tsize\ncall\tcontakt\n", "'contakt', which is not one of the classes"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_sequences_are_named_by_file_and_line(tagging: Path, tmp_path: Path, name: str) -> None:
    file, content, message = BAD[name]
    (tmp_path / file).write_text(content)
    base = ["train", tmp_path / file, "--task", "tag", "-c", tagging / "c.toml", "-o", tmp_path / "m.tilt"]
    assert message in refused(*base)
    assert not (tmp_path / "m.tilt").exists()
    if name not in ("unknown label", "lengths"):
        assert message in refused("predict", tagging / "m.tilt", tmp_path / file)


def test_an_unknown_label_is_found_in_its_file(tagging: Path, tmp_path: Path) -> None:
    (tmp_path / "d.conll").write_text("big\tsize\n\ncall\tcontakt\n")
    err = refused("train", tmp_path / "d.conll", "-c", tagging / "c.toml", "-o", tmp_path / "m.tilt")
    assert f"Sequence 1 begins at {tmp_path / 'd.conll'}, line 3." in err


def test_a_constraint_whose_name_mentions_a_sequence_is_no_sequence(tmp_path: Path) -> None:
    (tmp_path / "t.conll").write_text("big\tsize\nroom\tsize\n\ncall\tcontact\n")
    head = 'version = 1\nclasses = ["contact", "size"]\n[[constraint]]\nname = "rule for sequence 1 of the book"\n'
    (tmp_path / "c.toml").write_text(head + 'label = "sizes"\ngiven = { word = "big" }\nabout = 0.5\n')
    err = refused("train", tmp_path / "t.conll", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt")
    assert "The constraint 'rule for sequence 1 of the book' names the label 'sizes'" in err
    assert "begins at" not in err


def test_bio_violations_are_found_in_their_file(tmp_path: Path) -> None:
    (tmp_path / "d.conll").write_text("a\tO\nb\tB-x\n\nc\tO\nd\tI-x\n")
    base = ["train", tmp_path / "d.conll", "-o", tmp_path / "m.tilt"]
    err = refused(*base, "--valid-only")
    assert "'I-x', which may not stand there" in err
    assert "d.conll, line 4." in err
    assert run(*base)[0] == 0


def test_blank_tokens_can_be_skipped_or_replaced(tagging: Path, tmp_path: Path) -> None:
    (tmp_path / "d.conll").write_text("big\tx\n \tx\nroom\tx\n")
    base = ["predict", tagging / "m.tilt", tmp_path / "d.conll", "--blank"]
    assert run(*base, "skip")[1].split() == ["big", "size", "room", "size"]
    assert run(*base, "replace")[1].split()[::2] == ["big", "_", "room"]
    assert "--blank 'skipp' must be one of" in refused(*base, "skipp")


def test_columns_that_are_not_there(tagging: Path) -> None:
    base = ["train", tagging / "train.conll", "-o", tagging / "never.tilt"]
    assert "line 1: there is no column 5 for the token" in refused(*base, "--token-column", 5)
    assert "--label-column" in refused(*base, "--label-column", "last")
    assert "cannot hold both tokens and labels" in refused(*base, "--label-column", 0)
    assert "no data format" in refused(*base, "--task", "classify", "--format", "conll")
    assert "no format 'csv' of sequences" in refused(*base, "--task", "tag", "--format", "csv")


def test_labels_that_were_left_out_are_said_to_be(tagging: Path, tmp_path: Path) -> None:
    for name in ("test.jsonl", "test.conll"):
        err = refused("train", tagging / name, "--label-column", "none", "-o", tmp_path / "m.tilt")
        assert "--label-column none leaves out all labels" in err


def test_a_count_that_no_attribute_reaches(tagging: Path, tmp_path: Path) -> None:
    err = refused("train", tagging / "test.conll", "--min-count", 100_000, "-o", tmp_path / "m.tilt")
    assert "--min-count 100000 drops every attribute" in err


# Documents or sequences? ------------------------------------------------------------------------------------------


def test_a_tagger_refuses_texts_and_a_classifier_sequences(tagging: Path) -> None:
    for command in ("predict", "evaluate"):
        err = refused(command, tagging / "m.tilt", tagging / "texts.jsonl")
        assert "m.tilt is a tagger, so it needs sequences" in err
        assert "texts.jsonl has texts in the field 'text'" in err
        for name in ("test.conll", "test.jsonl"):
            err = refused(command, tagging / "classifier.tilt", tagging / name)
            assert "classifier.tilt is a classifier, so it needs texts" in err
    assert "--text is to label documents, but" in refused("predict", tagging / "m.tilt", "-", "--text", "t")
    assert "--tokens is to label tokens, but" in refused("predict", tagging / "classifier.tilt", "-", "--tokens", "t")


def test_constraints_on_sequences_cannot_train_a_classifier(tagging: Path, tmp_path: Path) -> None:
    base = ["train", tagging / "texts.jsonl", "-c", tagging / "c.toml", "-o", tmp_path / "m.tilt"]
    err = refused(*base)
    assert "the constraint 'goes on' is about sequences" in err
    assert "Say --task classify or --task tag" in err
    assert "'goes on' is about sequences, but a classifier" in refused(*base, "--task", "classify")
    assert "there is no tokens field 'tokens'" in refused(*base, "--task", "tag")


def test_statements_about_documents_are_statements_about_tokens(tagging: Path, tmp_path: Path) -> None:
    """Whoever asks for a tagger gets one; phrases and columns of documents then rest or are missed by name."""
    (tmp_path / "c.toml").write_text(CONSTRAINTS.split('[[constraint]]\nname = "goes on"', maxsplit=1)[0])
    found = document("train", tagging / "train.conll", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt")
    assert found["task"] == "tag"
    more = '[[constraint]]\nname = "old"\nlabel = "size"\ngiven = { column = "age", above = 3 }\nabout = 0.9\n'
    (tmp_path / "c.toml").write_text(CONSTRAINTS + more)
    base = ["train", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt"]
    assert "no column field 'age'" in refused(*base, tagging / "test.jsonl")


SIGNS = {
    "conll": (["{tagging}/train.conll"], "tag"),
    "jsonl": (["{tagging}/test.jsonl"], "tag"),
    "texts": (["{tagging}/texts.jsonl"], "classify"),
    "format": (["{tagging}/columns", "--format", "conll"], "tag"),
    "option": (["{tagging}/columns", "--label-column", "1"], "tag"),
    "constraints": (["{tagging}/columns", "-c", "{tagging}/c.toml"], "tag"),
}


@pytest.mark.parametrize("name", SIGNS)
def test_the_task_is_told_from_what_is_there(tagging: Path, tmp_path: Path, name: str) -> None:
    arguments, task = SIGNS[name]
    (tagging / "columns").write_text(conll(ads(6, 6)))
    given = [a.format(tagging=tagging) for a in arguments]
    assert document("train", *given, "-o", tmp_path / "m.tilt", "--max-iter", 3)["task"] == task


def test_signs_that_contradict_each_other(tagging: Path, tmp_path: Path) -> None:
    base = ["train", "-o", tmp_path / "m.tilt"]
    err = refused(*base, tagging / "train.conll", tagging / "texts.jsonl")
    assert "texts.jsonl has texts in the field 'text', but" in err
    assert "train.conll is called .conll" in err
    assert "--vectorizer is to label documents, but" in refused(*base, tagging / "train.conll", "--vectorizer", "tfidf")
    err = refused(*base, tagging / "train.conll", "--vectorizer", "tfidf", "--task", "tag")
    assert "--vectorizer is to label documents, but this is --task tag. Leave it out." in err
    assert "no task 'tagg'. Did you mean \"tag\"?" in refused(*base, tagging / "train.conll", "--task", "tagg")
    (tmp_path / "d.txt").write_text("some prose\n")
    assert "--task tag" in refused(*base, tmp_path / "d.txt")


def test_an_index_beyond_the_data_has_no_place() -> None:
    rows = SequenceDataset([["a"]], None, ["0"], ["d.conll, line 1"], ())
    with pytest.raises(DataError, match=r"^No such sequence\.$"), located(SEQUENCES, rows):
        raise DataError("No such sequence.", instance=1)
