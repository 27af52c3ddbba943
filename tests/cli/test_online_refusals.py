"""Streams that cannot be learned from, records that are left out, and options that do not go together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.ads import CONSTRAINTS as OF_ADS
from tests.cli.ads import conll, document, refused, run
from tests.cli.streams import CHUNK, documents, folder_of, lines, online, trained

from tiltfit import TiltClassifier, load
from tiltfit.cli.checkpoint import Place
from tiltfit.errors import ModelFileError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("refusals"))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltfit.cli.online.CHUNK", CHUNK)


def failed(folder: Path, tmp_path: Path, *arguments: object, kept: int = 0, **how: Any) -> str:
    """The one line that is said; what was learned from the chunks before it (``kept`` documents) is written."""
    output = tmp_path / "m.tilt"
    code, out, err = online(folder, "-o", output, *arguments, **how)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (load(output).stream_.place["taken"] if output.exists() else 0) == kept
    if kept:
        advice = f" {output} holds what was learned from {kept} documents: --resume continues from there.\n"
        assert err.endswith(advice)
        err = err.removesuffix(advice) + "\n"
    return err


def with_lines(folder: Path, *more: object, after: int = 150) -> str:
    """A file like the documents, with further lines; its name."""
    good = lines(documents()).splitlines()
    bad = [line if isinstance(line, str) else json.dumps(line) for line in more]
    (folder / "x.jsonl").write_text("\n".join([*good[:after], *bad, *good[after:]]) + "\n")
    return "x.jsonl"


# bad input -------------------------------------------------------------------------------------------------------


MALFORMED = ["{no", '{"txt": "a"}', '{"text": 5}', '{"text": "a", "label": ["b"]}', '{"text": "a", "label": 7}']


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_line_is_fatal_or_left_out(folder: Path, tmp_path: Path, line: str) -> None:
    data = with_lines(folder, line)
    said = failed(folder, tmp_path, data=data, kept=128)
    assert "x.jsonl, line 151: " in said
    assert said.endswith("--on-error skip leaves such records out, and counts them.\n")
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", "--fresh", "--on-error", "skip", data=data)
    assert "Learned from 300 documents" in out
    assert "Left out 1 record:\n  " in out
    assert "x.jsonl, line 151: " in out


def test_a_constraint_that_is_refused_is_no_bad_record(folder: Path, tmp_path: Path) -> None:
    """Its name may say "row 0"; no record is left out for it, and it is said at once."""
    head = 'version = 1\nclasses = ["a", "b"]\n[[constraint]]\nname = "row 0 rule"\n'
    said = head + 'label = "a"\non = "all"\nabout = 0.5\n'
    (folder / "named.toml").write_text(said)
    code, _, err = run("train", "--online", folder / "d.jsonl", "-c", folder / "named.toml",
                       "-o", tmp_path / "m.tilt", "--ignore-labels", "--on-error", "skip")  # fmt: skip
    assert code == 2
    assert "on='all'" in err


def test_many_malformed_lines_are_counted_and_the_first_shown(folder: Path, tmp_path: Path) -> None:
    data = with_lines(folder, *["{no"] * 7)
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", "--fresh", "--on-error", "skip", data=data)
    assert "Left out 7 records:" in out
    assert "line 155: " in out
    assert "line 156: " not in out
    assert "  and 2 more" in out
    given = ("train", "--online", folder / data, "-c", folder / "c.toml", "-o", tmp_path / "m.tilt", "--fresh")
    found = document(*given, "--on-error", "skip")
    assert (found["rows"], found["malformed"], len(found["problems"])) == (300, 7, 5)


@pytest.mark.parametrize("after", [10, 150])
def test_a_label_that_is_no_class(folder: Path, tmp_path: Path, after: int) -> None:
    """In the first chunk or later: the file of constraints names the classes."""
    data = with_lines(folder, {"text": "a hole", "label": "golf"}, {"text": "ice", "label": "hokcey"}, after=after)
    said = failed(folder, tmp_path, data=data, kept=after // CHUNK * CHUNK)
    assert f"x.jsonl, line {after + 1}: the label 'golf' is not one of the classes (baseball, hockey)" in said
    assert "--classes" in said
    assert "--on-error skip" in said
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", "--fresh", "--on-error", "skip", data=data)
    assert "Learned from 300 documents" in out
    assert "Left out 2 records:" in out
    assert 'Did you mean "hockey"?' in out
    assert load(tmp_path / "m.tilt").stream_.place["taken"] == 0


def test_a_label_first_seen_late(folder: Path, tmp_path: Path) -> None:
    """Nothing names the classes but the first chunk."""
    data = with_lines(folder, {"text": "a hole", "label": "golf"})
    code, _, err = run("train", "--online", folder / data, "-o", tmp_path / "m.tilt")
    assert code == 2
    assert "x.jsonl, line 151: the label 'golf' is not one of the classes" in err
    given = ("train", "--online", folder / data, "-o", tmp_path / "m.tilt", "--fresh")
    found = document(*given, "--classes", "baseball,golf,hockey")
    assert found["classes"] == ["baseball", "golf", "hockey"]


def test_a_tag_first_seen_late(folder: Path, tmp_path: Path) -> None:
    rows = [(["big", "room"], ["size", "size"]), (["call", "Ann"], ["contact", "contact"])] * 40
    (tmp_path / "x.conll").write_text(conll([*rows, (["a", "b"], ["size", "price"])]))
    (tmp_path / "c.toml").write_text(OF_ADS)
    given = ("train", "--online", tmp_path / "x.conll", "-c", tmp_path / "c.toml", "-o", tmp_path / "m.tilt")
    said = refused(*given)
    assert "x.conll, line 241: the label 'price' is not one of the classes (contact, size)" in said
    found = document(*given, "--fresh", "--on-error", "skip")
    assert (found["rows"], found["tokens"], found["unfit"]) == (80, 160, 1)


def test_a_sequence_that_is_not_well_formed(tmp_path: Path) -> None:
    rows = [(["Ann", "Lee", "came"], ["B-PER", "I-PER", "O"])] * 70 + [(["so", "Bob"], ["O", "I-PER"])]
    (tmp_path / "x.conll").write_text(conll(rows))
    given = ("train", "--online", tmp_path / "x.conll", "--valid-only", "-o", tmp_path / "m.tilt")
    code, _, err = run(*given)
    assert code == 2
    assert "x.conll, line 281: " in err
    assert "which may not stand there" in err
    found = document(*given, "--fresh", "--on-error", "skip")
    assert (found["rows"], found["unfit"]) == (70, 1)


def test_a_number_that_is_missing(folder: Path, tmp_path: Path) -> None:
    data = with_lines(folder, {"text": "ice"})
    said = failed(folder, tmp_path, "--column", "season", data=data, kept=128)
    assert "x.jsonl, line 151: Column 'season' of X is NaN" in said
    how = ("--fresh", "--column", "season", "--on-error", "skip")
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", *how, data=data)
    assert "Learned from 300 documents" in out


def test_many_blanks_take_few_attempts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names all of them, so none of them costs an attempt of its own."""
    data = with_lines(folder, *[{"text": "ice"}] * 200)
    attempts = []
    learn = TiltClassifier.partial_fit

    def counted(model: TiltClassifier, *arguments: Any) -> TiltClassifier:
        attempts.append(model)
        return learn(model, *arguments)

    monkeypatch.setattr(TiltClassifier, "partial_fit", counted)
    how = ("--fresh", "--column", "season", "--on-error", "skip")
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", *how, data=data)
    assert "Learned from 300 documents" in out
    assert "Left out 200 records:" in out
    assert "x.jsonl, line 152: left out for the same reason." in out
    assert len(attempts) <= 2 * (500 // CHUNK + 1)  # a chunk fails at most once


def test_a_column_that_is_not_there(folder: Path, tmp_path: Path) -> None:
    said = failed(folder, tmp_path, "--column", "saison")
    assert "None of the first 64 documents has a value in the field 'saison'" in said


@pytest.mark.parametrize("stdin", [b"", b"\n\n", None])
def test_an_empty_stream(folder: Path, tmp_path: Path, stdin: bytes | None) -> None:
    (folder / "empty.jsonl").write_text("")
    how = ("--format", "jsonl") if stdin else ()
    assert ": no rows. There is nothing to read here." in failed(
        folder, tmp_path, *how, data="empty.jsonl", stdin=stdin
    )


def test_an_empty_stream_of_sequences(folder: Path, tmp_path: Path) -> None:
    assert "standard input: no sequences." in failed(folder, tmp_path, data="s.conll", stdin=b"")


def test_a_stream_without_a_good_record(folder: Path, tmp_path: Path) -> None:
    (folder / "x.jsonl").write_text("{no\n" * 3)
    said = failed(folder, tmp_path, "--on-error", "skip", data="x.jsonl")
    assert "All 3 that are here are malformed" in said
    (folder / "x.jsonl").write_text('{"text": "a", "label": "golf"}\n' * 3)
    said = failed(folder, tmp_path, "--on-error", "skip", data="x.jsonl")
    assert "all 3 records were left out. The first: " in said
    assert "x.jsonl, line 1: the label 'golf'" in said


def test_a_missing_file(folder: Path, tmp_path: Path) -> None:
    assert "d.jsnl: there is no such file." in failed(folder, tmp_path, data="d.jsnl")


def test_classes_that_are_not_known(folder: Path, tmp_path: Path) -> None:
    given = ("train", "--online", folder / "d.jsonl", "-o", tmp_path / "m.tilt")
    assert "none is known" in refused(*given, "--ignore-labels")
    said = refused(*given, "--label", "lable")
    assert "From constraints and the first 64 documents none is known" in said
    assert "--label says where labels are" in said
    (tmp_path / "x.jsonl").write_text('{"text": "a", "label": "b"}\n' * 9)
    assert "only b is known" in refused("train", "--online", tmp_path / "x.jsonl", "-o", tmp_path / "m.tilt")


def test_nothing_to_learn_from(folder: Path, tmp_path: Path) -> None:
    given = ("train", "--online", folder / "d.jsonl", "-o", tmp_path / "m.tilt", "--classes", "a,b")
    assert "There is nothing to learn from" in refused(*given, "--ignore-labels")


# options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--tol 1", "--tol does not go with --online"),
        ("--refine", "--refine does not go with --online"),
        ("--max-iter 3", "--passes says"),
        ("--init zeros", "--from"),
        ("--sharpen 2", "--sharpen does not go with --online"),
        ("--constraints-from-labels 3", "--constraints-from-labels does not go with --online"),
        ("--solver joint", "--solver online"),
        ("--vectorizer tfidf", "--vectorizer hashing"),
        ("--eta0 1", "--steps printed"),
        ("--passes 0", "--passes 0 must be"),
        ("--checkpoint 0", "--checkpoint 0 must be"),
        ("--on-error skp", 'Did you mean "skip"?'),
        ("--steps foo", "error: --steps 'foo' is unknown: use 'adaptive' or 'printed'"),
        ("--batch-size 0", "error: --batch-size 0 must be"),
        ("--horizon -1", "error: --horizon -1 must be"),
        ("--from m.tilt -c c.toml", "m.tilt"),
        ("--alpha -1", "error: --alpha -1.0 must be"),
    ],
)
def test_options_that_make_no_sense_online(folder: Path, tmp_path: Path, option: str, said: str) -> None:
    assert said in failed(folder, tmp_path, *option.split())


@pytest.mark.parametrize(
    ("option", "said"),
    [("--min-count 2", "--hashing"), ("--weights observed", "--weights all"), ("--label x", "--label")],
)
def test_options_that_make_no_sense_for_sequences_online(folder: Path, tmp_path: Path, option: str, said: str) -> None:
    assert said in failed(folder, tmp_path, *option.split(), data="s.conll")


@pytest.mark.parametrize(
    "option",
    ["--passes 2", "--horizon 9", "--steps printed", "--eta0 1", "--batch-size 9", "--checkpoint 9", "--on-error skip",
     "--resume", "--fresh", "--from m.tilt", "--verbose"],
)  # fmt: skip
def test_options_of_streams_need_online(folder: Path, tmp_path: Path, option: str) -> None:
    said = refused("train", folder / "d.jsonl", "-o", tmp_path / "m.tilt", *option.split())
    assert f"{option.split(maxsplit=1)[0]} is for streams. Add --online" in said


def test_standard_input_has_one_pass(folder: Path, tmp_path: Path) -> None:
    said = failed(folder, tmp_path, "--passes", 2, stdin=b"")
    assert "standard input can be read only once. Use --passes 1" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--alpha", 2), "was begun without --alpha."),
        (("--text", "id"), "was begun without --text."),
        (("--passes", 1, "--horizon", 5), "was begun without --horizon."),
    ],
)
def test_a_run_is_not_taken_up_with_other_options(
    folder: Path, tmp_path: Path, options: tuple[object, ...], said: str
) -> None:
    trained(folder, "-o", tmp_path / "m.tilt")
    code, _, err = online(folder, "-o", tmp_path / "m.tilt", "--resume", *options)
    assert (code, said in err) == (2, True), err


def test_a_run_is_not_taken_up_with_other_data_or_constraints(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt", "--alpha", 0.5)
    (folder / "e.jsonl").write_text(lines(documents()))
    again = ("-o", tmp_path / "m.tilt", "--resume")
    code, _, err = online(folder, *again, "--alpha", 0.5, data="e.jsonl")
    assert (code, "d.jsonl, not " in err) == (2, True)
    assert "with --alpha 0.5, which is now missing." in online(folder, *again)[2]
    assert "with --alpha 0.5, not 0.25." in online(folder, *again, "--alpha", 0.25)[2]
    other = tmp_path / "other"
    other.mkdir()
    folder_of(other)
    (other / "c.toml").write_text((folder / "c.toml").read_text().replace("0.9", "0.8"))
    given = ("train", "--online", folder / "d.jsonl", "--alpha", 0.5, *again)
    assert "with another content of --constraints." in refused(*given, "-c", other / "c.toml")
    assert "with --constraints, which is now missing." in refused(*given)


def test_only_models_that_learn_online_can_go_on(folder: Path, tmp_path: Path) -> None:
    assert run("train", folder / "d.jsonl", "-c", folder / "c.toml", "-o", tmp_path / "b.tilt", "--max-iter", 3)[0] == 0
    code, _, err = online(folder, "-o", tmp_path / "b.tilt", "--resume")
    assert (code, "b.tilt was not trained with --online" in err) == (2, True)
    given = ("train", "--online", folder / "d.jsonl", "-o", tmp_path / "m.tilt", "--from")
    assert "b.tilt was not trained with --online" in refused(*given, tmp_path / "b.tilt")
    assert "no.tilt" in refused(*given, tmp_path / "no.tilt")
    trained(folder, "-o", tmp_path / "o.tilt")
    assert "--alpha is fixed by " in refused(*given, tmp_path / "o.tilt", "--alpha", 2)
    assert "is also an input" in refused("train", "--online", folder / "d.jsonl", "-o", tmp_path / "o.tilt", "--from",
                                         tmp_path / "o.tilt")  # fmt: skip
    model = load(tmp_path / "o.tilt")
    model.stream_.place = {}
    model.save(tmp_path / "o.tilt")
    code, _, err = online(folder, "-o", tmp_path / "o.tilt", "--resume")
    assert (code, "does not say where it is in its data" in err) == (2, True)


@pytest.mark.parametrize(
    "change", [{"taken": -1}, {"size": 0}, {"passes": True}, {"rows": "9"}, {"run": []}, {"malformed_problems": [1]},
               {"unfit_problems": "ab"}, {"more": 1}]
)  # fmt: skip
def test_a_place_that_cannot_be_one(change: dict[str, object]) -> None:
    place = Place(run={}, size=64).document()
    with pytest.raises(ModelFileError, match="place in the data"):
        Place.of(place | change)


def test_a_damaged_place_is_named(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt")
    model = load(tmp_path / "m.tilt")
    model.stream_.place["taken"] = -3
    model.save(tmp_path / "m.tilt")
    code, _, err = online(folder, "-o", tmp_path / "m.tilt", "--resume")
    assert (code, "m.tilt is damaged: " in err) == (2, True)
