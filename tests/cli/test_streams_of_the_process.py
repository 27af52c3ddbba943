"""Terminals that cannot show a text, streams that are closed, disks that are full."""

import errno
import json
import os
import subprocess
import sys

import pytest

from tiltfit.storage.atomic import replacing


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    rows = [{"text": "pück – 猫", "label": "hö"}, {"text": "ball run", "label": "猫"}] * 5
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "tiltfit", *map(str, arguments)], capture_output=True, timeout=120, check=False, **more
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_a_terminal_cannot_show_is_escaped(data, tmp_path, encoding):
    model = tmp_path / "model.tilt"
    done = run(["train", data, "-o", model], env={**os.environ, "PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert model.exists()
    assert b"UnicodeEncodeError" not in done.stderr
    assert rb"\u732b" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams as a shell does")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("train - -o model.tilt <&-", "standard input is closed"),
        ("train data.jsonl -o model.tilt >&-", "standard output is closed"),
    ],
)
def test_closed_streams_are_named(data, tmp_path, line, said):
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m tiltfit {line}'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "AttributeError" not in done.stderr


def test_a_full_disk_names_the_file(tmp_path):
    path = tmp_path / "model.tilt"
    with pytest.raises(OSError) as found, replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert found.value.filename == str(path)
    assert not list(tmp_path.iterdir())
