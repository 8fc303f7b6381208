"""Readers never see half a file, whatever goes wrong while it is written."""

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from montechain._files import atomic_write
from montechain.errors import OutputError


def only(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_old_file_stands_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / ("n" * 250 + ".txt")  # as long as names can be
    path.write_text("old")
    with atomic_write(str(path), "w", encoding="utf-8", newline="\n") as stream:
        stream.write("à\n")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_bytes() == "à\n".encode()
    assert only(tmp_path) == [path.name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError, SystemExit])
def test_a_failure_leaves_everything_as_it_was(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_write(path, "w") as stream:
            stream.write("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert only(tmp_path) == ["a.txt"]


def test_a_full_disk_is_an_output_error(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with (
            pytest.raises(OutputError, match=r"a\.bin cannot be written: File too large"),
            atomic_write(path) as stream,
        ):
            stream.write(b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"old"
    assert only(tmp_path) == ["a.bin"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_a_full_device_is_an_output_error():
    with pytest.raises(OutputError, match="No space left"), atomic_write("/dev/full") as stream:
        stream.write(b"x")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    with atomic_write(pipe) as stream:
        stream.write(b"hello")
    reader.join(timeout=10)
    assert heard == [b"hello"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_named(tmp_path):
    with pytest.raises(OutputError, match="it is a folder"), atomic_write(tmp_path):
        pass
    assert only(tmp_path) == []


def test_errors_about_other_files_are_left_alone(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "a.txt"):
        (tmp_path / "source.txt").read_text()
    assert not isinstance(caught.value, OutputError)
    assert only(tmp_path) == []


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomic_write(tmp_path / "link.txt", "w") as stream:
        stream.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_permissions_are_kept_or_follow_the_mask(tmp_path):
    old = tmp_path / "old.txt"
    old.write_text("x")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        for name in ("old.txt", "new.txt"):
            before = set(tmp_path.iterdir())
            with atomic_write(tmp_path / name, "w"):  # what replaces a private file is private from the start
                (part,) = set(tmp_path.iterdir()) - before
                assert stat.S_IMODE(part.stat().st_mode) == 0o640
    finally:
        os.umask(mask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


def test_ctrl_c_while_writing(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    code = """
import signal, sys, time
from montechain._files import atomic_write
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
with atomic_write(sys.argv[1], "w") as stream:
    stream.write("half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        assert len(only(tmp_path)) == 2
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
    assert (tmp_path / "a.txt").read_text() == "old"
    assert only(tmp_path) == ["a.txt"]
