"""A run that was cut off, at whatever moment, is taken up again and ends as if it had not been."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.ads import refused, run
from tests.cli.streams import CHUNK, documents, failing_at, folder_of, lines, online, trained

from tiltfit import load
from tiltfit.data.readers.chunks import ChunkStream


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("resume"))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltfit.cli.online.CHUNK", CHUNK)


@pytest.fixture(scope="module")
def uncut(folder: Path) -> Callable[..., bytes]:
    """The model of a run that nothing has cut off, by its options; each is run once."""
    known: dict[tuple[object, ...], bytes] = {}

    def model(*how: object) -> bytes:
        if how not in known:
            trained(folder, "-o", folder / "whole.tilt", "--fresh", *how)
            known[how] = (folder / "whole.tilt").read_bytes()
        return known[how]

    return model


def crash() -> None:
    raise RuntimeError("a crash")


@pytest.fixture(autouse=True)
def as_in_the_foreground() -> Iterator[None]:
    """Jobs in the background ignore Ctrl-C, and so would the tests of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("call", [1, 2, 4, 5, 6, 8, 10])
def test_after_a_crash_at_any_chunk(
    folder: Path, uncut: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """Ten chunks in two passes, a checkpoint after the second and fourth of each pass and at its end."""
    how = ("--passes", 2, "--checkpoint", 128)
    with monkeypatch.context() as patch:
        failing_at(patch, call, crash)
        code, _, err = online(folder, "-o", tmp_path / "m.tilt", *how)
    assert (code, "a crash" in err) == (2, True)
    kept = {1: None, 2: None, 4: (0, 128), 5: (0, 256), 6: (1, 0), 8: (1, 128), 10: (1, 256)}[call]
    if kept is None:
        assert not (tmp_path / "m.tilt").exists()
    else:
        place = load(tmp_path / "m.tilt").stream_.place
        assert (place["passes"], place["taken"]) == kept
    _, err = trained(folder, "-o", tmp_path / "m.tilt", *how, "--resume")
    assert ("Resuming the run" in err) is (kept is not None)
    assert (f"There is no {tmp_path / 'm.tilt'} to resume: starting from the beginning.\n" in err) is (kept is None)
    assert (tmp_path / "m.tilt").read_bytes() == uncut(*how)


def test_sequences_from_standard_input(folder: Path, tmp_path: Path) -> None:
    """A run on the first half, and then on all of it: as if the first had been cut off."""
    text = (folder / "s.conll").read_text().split("\n\n")
    half, whole = ("\n\n".join(part).encode() for part in (text[: 2 * CHUNK], text))
    trained(folder, "-o", tmp_path / "whole.tilt", data="s.conll", stdin=whole)
    code, _, err = online(
        folder, "-o", tmp_path / "m.tilt", "--checkpoint", 1, data="s.conll", stdin=half + b"\n\na b c"
    )
    assert code == 2, err
    assert "--resume continues" in err
    assert load(tmp_path / "m.tilt").stream_.place["taken"] == 2 * CHUNK
    out, err = trained(folder, "-o", tmp_path / "m.tilt", "--resume", data="s.conll", stdin=whole)
    assert "after 128 sequences" in err
    assert "172 of them now" in out
    assert (tmp_path / "m.tilt").read_bytes() == (tmp_path / "whole.tilt").read_bytes()


@pytest.mark.parametrize(("act", "status"), [(interrupt, 130), (terminate, 143)])
def test_ctrl_c_waits_for_the_chunk_and_keeps_it(
    folder: Path,
    uncut: Callable[..., bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[], None],
    status: int,
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        failing_at(patch, 3, act)
        code, out, err = online(folder, "-o", tmp_path / "m.tilt")
    assert (code, out) == (status, "")
    assert signal.getsignal(signal.SIGTERM) is before
    assert err.startswith("error: interrupted after 192 documents. ")
    assert "--resume" in err
    trained(folder, "-o", tmp_path / "m.tilt", "--resume")
    assert (tmp_path / "m.tilt").read_bytes() == uncut()


@pytest.mark.parametrize(("act", "status"), [(interrupt, 130), (terminate, 143)])
@pytest.mark.parametrize(("chunks", "kept"), [(0, None), (2, 2 * CHUNK)])
def test_ctrl_c_while_reading(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chunks: int,
    kept: int | None,
    act: Callable[[], None],
    status: int,
) -> None:
    given, after = [0], ChunkStream.__next__

    def interrupted(self: ChunkStream) -> object:
        if given[0] == chunks:
            act()
        given[0] += 1
        return after(self)

    monkeypatch.setattr(ChunkStream, "__next__", interrupted)
    code, _, err = online(folder, "-o", tmp_path / "m.tilt")
    assert code == status
    if kept is None:
        assert "before anything was learned" in err
        assert not (tmp_path / "m.tilt").exists()
    else:
        assert load(tmp_path / "m.tilt").stream_.place["taken"] == kept


def test_signals_that_are_ignored_stay_ignored(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a job in the background are."""
    failing_at(monkeypatch, 3, interrupt)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        trained(folder, "-o", tmp_path / "m.tilt")
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_late_in_a_stream_keeps_what_was_learned(folder: Path, tmp_path: Path) -> None:
    """Without any checkpoint before it; the line is mended, and the run goes on."""
    good = lines(documents()).splitlines(keepends=True)
    data = tmp_path / "mended.jsonl"
    data.write_text("".join([*good[:200], "{no\n", *good[200:]]))
    given = ("train", "--online", data, "-c", folder / "c.toml", "-o", tmp_path / "m.tilt")
    said = refused(*given)
    assert f"{data}, line 201: not JSON" in said
    assert said.endswith("m.tilt holds what was learned from 192 documents: --resume continues from there.\n")
    data.write_text("".join(good))
    code, _, err = run(*given, "--resume")
    assert (code, "Resuming the run" in err) == (0, True), err
    assert run(*given[:-1], tmp_path / "whole.tilt")[0] == 0
    assert (tmp_path / "m.tilt").read_bytes() == (tmp_path / "whole.tilt").read_bytes()


def test_an_error_before_anything_was_learned_writes_nothing(folder: Path, tmp_path: Path) -> None:
    """Documents of which neither a constraint nor a label speaks."""
    silent = [{"text": "ice rink"}] * (2 * CHUNK)
    (tmp_path / "x.jsonl").write_text(lines(silent) + "{no\n")
    said = refused("train", "--online", tmp_path / "x.jsonl", "-c", folder / "c.toml", "-o", tmp_path / "m.tilt")
    assert said.endswith("--on-error skip leaves such records out, and counts them.\n")
    assert not (tmp_path / "m.tilt").exists()


def cut_after(folder: Path, output: Path, data: Path, chunks: int, *more: object) -> tuple[object, ...]:
    """A run on ``data`` that ends after so many chunks; the command that takes it up."""
    given = ("train", "--online", data, "-c", folder / "c.toml", "-o", output, *more)
    with pytest.MonkeyPatch.context() as patch:
        failing_at(patch, chunks, interrupt)
        assert run(*given)[0] == 130
    return (*given, "--resume")


@pytest.mark.parametrize(("change", "field"), [(0, "text"), (127, "text"), (100, "label"), (0, "gone"), (127, "gone")])
def test_other_data_of_the_same_name_are_refused(folder: Path, tmp_path: Path, change: int, field: str) -> None:
    data, rows = tmp_path / "d.jsonl", documents()
    data.write_text(lines(rows))
    again = cut_after(folder, tmp_path / "m.tilt", data, 2)
    before = (tmp_path / "m.tilt").read_bytes()
    if field == "gone":
        del rows[change]
    else:
        rows[change] = rows[change] | {field: "hockey" if rows[change].get(field) != "hockey" else "baseball"}
    data.write_text(lines(rows))
    said = refused(*again, "--quiet")
    assert f"{data}: the first 128 rows are not those that {tmp_path / 'm.tilt'} has learned from." in said
    assert "say --fresh instead to begin again. To continue with new data, use --from " in said
    assert said.endswith("another -o.\n")
    assert (tmp_path / "m.tilt").read_bytes() == before


def test_what_was_not_learned_from_may_change(folder: Path, tmp_path: Path) -> None:
    """Names of documents, malformed lines, and all that comes after the place."""
    data, rows = tmp_path / "d.jsonl", documents()
    data.write_text(lines(rows))
    again = cut_after(folder, tmp_path / "m.tilt", data, 2)
    rows[5]["id"] = "another"
    rows[128:] = documents(500, seed=1)
    data.write_text(lines(rows[:9]) + "{no\n" + lines(rows[9:]))
    code, out, err = run(*again, "--on-error", "skip")
    assert code == 0, err
    assert "Learned from 628 documents" in out


def test_a_pass_must_begin_as_the_one_before(folder: Path, tmp_path: Path) -> None:
    data, rows = tmp_path / "d.jsonl", documents()
    data.write_text(lines(rows))
    given = ("train", "--online", data, "-c", folder / "c.toml", "-o", tmp_path / "m.tilt")
    assert run(*given)[0] == 0
    data.write_text(lines(documents(seed=1)))
    said = refused(*given, "--resume", "--passes", 2, "--quiet")
    assert f"{data}: the first 64 rows are not those that " in said


def test_other_standard_input_is_refused(folder: Path, tmp_path: Path) -> None:
    text = lines(documents()).encode()
    code, _, _ = online(folder, "-o", tmp_path / "m.tilt", stdin=text + b"{no\n")
    assert code == 2
    other = lines(documents(seed=1)).encode()
    code, _, err = online(folder, "-o", tmp_path / "m.tilt", "--resume", stdin=other)
    assert (code, "standard input: the first 256 rows are not those" in err) == (2, True)
    few = lines(documents(20)).encode()
    code, _, err = online(folder, "-o", tmp_path / "m.tilt", "--resume", stdin=few)
    assert (code, "Is this the stream that was read before?" in err) == (2, True)


def test_a_finished_run_is_left_as_it_is(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt")
    before = (tmp_path / "m.tilt").stat()
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", "--resume")
    assert "The run was complete" in out
    assert "Learned from 300 documents" in out
    after = (tmp_path / "m.tilt").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_more_passes_than_before(folder: Path, uncut: Callable[..., bytes], tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt")
    trained(folder, "-o", tmp_path / "m.tilt", "--resume", "--passes", 2)
    assert (tmp_path / "m.tilt").read_bytes() == uncut("--passes", 2)


def test_a_malformed_line_may_be_skipped_when_a_run_is_taken_up(folder: Path, tmp_path: Path) -> None:
    good = lines(documents()).splitlines(keepends=True)
    (folder / "bad.jsonl").write_text("".join([*good[:200], "{no\n", *good[200:]]))
    code, _, err = online(folder, "-o", tmp_path / "m.tilt", "--checkpoint", CHUNK, data="bad.jsonl")
    assert code == 2
    assert "bad.jsonl, line 201: " in err
    assert "holds what was learned from 192 documents: --resume continues from there." in err
    out, _ = trained(folder, "-o", tmp_path / "m.tilt", "--resume", "--on-error", "skip", data="bad.jsonl")
    assert "Left out 1 record:" in out
    trained(folder, "-o", tmp_path / "whole.tilt", "--on-error", "skip", data="bad.jsonl")
    assert (tmp_path / "m.tilt").read_bytes() == (tmp_path / "whole.tilt").read_bytes()


def test_a_run_is_not_replaced_by_whoever_forgets_to_resume_it(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt")
    before = (tmp_path / "m.tilt").read_bytes()
    said = refused("train", "--online", folder / "d.jsonl", "-c", folder / "c.toml", "-o", tmp_path / "m.tilt")
    assert "m.tilt holds what an earlier run has learned" in said
    assert "--resume, begin again with --fresh, or choose another -o" in said
    assert (tmp_path / "m.tilt").read_bytes() == before
    trained(folder, "-o", tmp_path / "m.tilt", "--fresh", "--alpha", 0.5)
    assert (tmp_path / "m.tilt").read_bytes() != before
    code, _, err = online(folder, "-o", tmp_path / "m.tilt", "--fresh", "--resume")
    assert (code, "leave one of them out" in err) == (2, True)


def test_what_is_no_run_is_replaced_as_ever(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "m.tilt").write_text("no model")
    trained(folder, "-o", tmp_path / "m.tilt")
    code, _, err = run("train", folder / "d.jsonl", "-c", folder / "c.toml", "-o", tmp_path / "batch.tilt")
    assert code == 0, err
    trained(folder, "-o", tmp_path / "batch.tilt")
    assert (tmp_path / "batch.tilt").read_bytes() == (tmp_path / "m.tilt").read_bytes()


def test_an_existing_model_is_kept_until_the_first_checkpoint(folder: Path, tmp_path: Path) -> None:
    trained(folder, "-o", tmp_path / "m.tilt")
    before = (tmp_path / "m.tilt").read_bytes()
    (folder / "broken.jsonl").write_text("{no\n")
    assert online(folder, "-o", tmp_path / "m.tilt", "--fresh", data="broken.jsonl")[0] == 2
    assert (tmp_path / "m.tilt").read_bytes() == before


LOOP = """
import os, random, signal, sys, time
from contextlib import suppress
from tiltfit import load
from tiltfit.cli.main import app

folder, seed = sys.argv[1], int(sys.argv[2])
command = ["train", "--online", f"{folder}/d.jsonl", "-c", f"{folder}/c.toml", "--checkpoint", "1", "-q"]

def train(output, *more):
    try:
        app([*command, "-o", f"{folder}/{output}", *more])
    except SystemExit as end:
        return int(end.code or 0)

def listing():
    found = []
    for name in sorted(os.listdir(folder)):
        with suppress(FileNotFoundError):
            found.append((name, os.stat(f"{folder}/{name}").st_mtime_ns))
    return found

assert train("whole.tilt") == 0  # compiles what is needed, and says how long a run takes
start = time.perf_counter()
assert train("whole.tilt", "--fresh") == 0
seconds = time.perf_counter() - start
rng, kills, places = random.Random(seed), 0, set()
while True:
    child = os.fork()
    if child == 0:
        os._exit(train("m.tilt", "--resume"))
    code = None
    if kills < 8:
        time.sleep(rng.uniform(0, seconds / 3))
        if kills % 2:  # wait until something is being written
            before = listing()
            while listing() == before and code is None:
                done, status = os.waitpid(child, os.WNOHANG)
                code = os.waitstatus_to_exitcode(status) if done else None
            time.sleep(rng.uniform(0, 0.02))
        if code is None:
            os.kill(child, signal.SIGKILL)
    if code is None:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if os.path.exists(f"{folder}/m.tilt"):
        places.add(load(f"{folder}/m.tilt").stream_.place["taken"])  # never a damaged file
    if code == 0:
        break
    assert code == -signal.SIGKILL, code
    kills += 1
print(kills, len(places))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_9_in_a_loop(tmp_path: Path) -> None:
    """One process trains in children that it kills at random moments, so that no time is spent on importing."""
    folder_of(tmp_path)
    (tmp_path / "d.jsonl").write_text(lines(documents(4000)))
    seed = random.randrange(2**31)
    done = subprocess.run(
        [sys.executable, "-c", LOOP, str(tmp_path), str(seed)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, (seed, done.stderr)
    kills, places = map(int, done.stdout.split())
    assert kills >= 1
    assert places >= 1
    assert (tmp_path / "m.tilt").read_bytes() == (tmp_path / "whole.tilt").read_bytes(), seed
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
