from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tiltfit.errors import UnsupportedError
from tiltfit.storage.atomic import remove_leftovers, replacing

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")


def listing(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "m.tilt"
    with replacing(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert listing(tmp_path) == ["m.tilt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_error_in_the_block_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "m.tilt"
    path.write_bytes(b"old")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == ["m.tilt"]


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_an_error_of_the_system_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "m.tilt"
    path.write_bytes(b"old")

    def full(*args: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, step, full)

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"new")

    with pytest.raises(OSError, match="No space left"):
        fail()
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == ["m.tilt"]


def test_the_data_is_on_disk_before_it_takes_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (steps.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append("replace"), replace(a, b))[1])
    with replacing(tmp_path / "m.tilt") as file:
        file.write(b"new")
    assert steps[:2] == ["fsync", "replace"]


@posix
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with replacing(tmp_path / "m.tilt") as file:
            file.write(b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "m.tilt").stat().st_mode) == 0o640


@posix
@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_an_existing_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "m.tilt"
    path.write_bytes(b"old")
    path.chmod(mode)
    with replacing(path) as file:
        file.write(b"new")
        [temporary] = tmp_path.glob(".*")
        assert stat.S_IMODE(temporary.stat().st_mode) & ~mode == 0
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "m.tilt"
    link.symlink_to(tmp_path / "real" / "model.tilt")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "real" / "model.tilt").read_bytes() == b"new"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="is a folder"), replacing(tmp_path):
        pass


@posix
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsupportedError, match="not a regular file"), replacing(tmp_path / "pipe"):
        pass


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder.*absent"), replacing(tmp_path / "absent" / "m.tilt"):
        pass


def test_a_write_protected_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.tilt"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *args: False)  # chmod would not stop root
    with pytest.raises(PermissionError, match="write-protected"), replacing(path):
        pass
    assert path.read_bytes() == b"old"


def test_a_relative_name_and_a_very_long_one_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with replacing("m" * 250) as file:
        file.write(b"new")
    assert listing(tmp_path) == ["m" * 250]


def test_leftovers_of_a_killed_writer_are_removed_and_nothing_else(tmp_path: Path) -> None:
    """A writer that is killed is one whose block never ends."""
    path, other = tmp_path / "m.tilt", tmp_path / "n.tilt"
    writers = [replacing(path), replacing(path), replacing(other)]
    for writer in writers:
        writer.__enter__()
    path.write_bytes(b"old")
    remove_leftovers(path)
    left = listing(tmp_path)
    assert left[1:] == ["m.tilt"]
    assert left[0].startswith(".tiltfit-")
    remove_leftovers(other)
    assert listing(tmp_path) == ["m.tilt"]
