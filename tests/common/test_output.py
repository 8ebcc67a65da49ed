"""Output files: links, pipes, devices, files of killed runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import soundfile

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.output import check_place, is_stream, whole_file, write_text
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.runtime.documents.writers import check_audio_file, write_audio

POSIX = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
TONE = np.sin(np.arange(2400, dtype=np.float32) / 9) / 2


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.wav")
    return tmp_path / "pipe.wav"


class Reader(threading.Thread):
    """Thread that reads a pipe to its end."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path, self.data = path, b""
        self.start()

    def run(self) -> None:
        self.data = self.path.read_bytes()

    def read(self) -> bytes:
        self.join(timeout=20)
        assert not self.is_alive()
        return self.data


@pytest.mark.parametrize("exists", [True, False], ids=["file", "nothing"])
def test_whole_file_writes_through_a_link(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link, second = tmp_path / "elsewhere" / "a.txt", tmp_path / "link", tmp_path / "second"
    link.symlink_to(Path("elsewhere") / "a.txt")
    second.symlink_to(link)
    if exists:
        target.write_text("old")
    write_text(second, "new")
    assert (second.readlink(), link.readlink()) == (link, Path("elsewhere/a.txt"))
    assert target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["a.txt"]


def test_check_place_resolves_links(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "no" / "a.wav")
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match=r"The folder .*/no for nowhere does not exist"):
        check_place(tmp_path / "nowhere")
    with pytest.raises(InputError, match="folder is a folder"):
        check_place(tmp_path / "folder")
    for use in (check_place, lambda path: write_text(path, "")):
        with pytest.raises(InputError, match="loop cannot be written: Too many levels of symbolic links"):
            use(tmp_path / "loop")
    assert (tmp_path / "loop").is_symlink()


@POSIX
def test_whole_file_writes_into_a_pipe(fifo: Path) -> None:
    reader = Reader(fifo)
    write_wav(fifo, TONE, 24000)
    write_wav(fifo.with_name("a.wav"), TONE, 24000)
    assert reader.read() == fifo.with_name("a.wav").read_bytes()
    assert fifo.is_fifo()
    assert {path.name for path in fifo.parent.iterdir()} == {"pipe.wav", "a.wav"}


@POSIX
def test_whole_file_writes_through_a_link_to_a_pipe(fifo: Path) -> None:
    link = fifo.with_name("link")
    link.symlink_to(fifo)
    reader = Reader(fifo)
    write_text(link, "text")
    assert reader.read() == b"text"
    assert fifo.is_fifo()


@POSIX
@pytest.mark.parametrize(
    "format",
    [
        "flac",
        "mp3",
        "opus",
        pytest.param("m4b", marks=pytest.mark.slow("needs ffmpeg, which imageio-ffmpeg brings")),
    ],
)
def test_formats_with_seeking_writers_can_be_piped(fifo: Path, format: str) -> None:
    reader = Reader(fifo)
    assert check_audio_file(fifo, format) == format
    write_audio(fifo, [TONE], 24000, format)
    data = reader.read()
    assert data
    if format != "m4b":
        fifo.with_name("copy").write_bytes(data)
        assert soundfile.info(fifo.with_name("copy")).samplerate == 24000


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="there is no /dev/null here")
def test_whole_file_writes_into_a_device(tmp_path: Path) -> None:
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    assert is_stream(link)
    assert check_audio_file(link) == "wav"
    write_audio(link, [TONE], 24000)
    assert Path("/dev/null").is_char_device()
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full here")
def test_full_device_is_reported() -> None:
    with pytest.raises(InputError, match="/dev/full cannot be written: No space left on device"):
        write_text(Path("/dev/full"), "text")


def test_dash_is_standard_output() -> None:
    code = (
        "import numpy as np; from kokoro_tvm.runtime.documents.writers import write_audio;"
        "write_audio('-', [np.zeros(5, np.float32)], 24000)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert process.stdout[:4] == b"RIFF"
    assert len(process.stdout) == 58 + 20
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        unread = subprocess.run([sys.executable, "-c", code], stdout=pipe, stderr=subprocess.PIPE)
    assert b"BrokenPipeError" in unread.stderr.splitlines()[-1]
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", sys.executable, "-c", code], capture_output=True)
    assert b"InputError: Standard output cannot be written: Bad file descriptor" in closed.stderr


@pytest.mark.parametrize("name", ["a.wav", "a.flac"])
def test_whole_file_ignores_files_of_killed_runs(tmp_path: Path, name: str) -> None:
    stale = [tmp_path / f".{name}{middle}.part" for middle in ("", f".{os.getpid()}")]
    for path in stale:
        path.write_bytes(b"stale")
    write_audio(tmp_path / name, [TONE], 24000)
    assert soundfile.info(tmp_path / name).frames == TONE.size
    assert [path.read_bytes() for path in stale] == [b"stale", b"stale"]


def test_whole_file_keeps_the_last_of_two_writers(tmp_path: Path) -> None:
    with whole_file(tmp_path / "a") as first:
        first.write_text("first")
        with whole_file(tmp_path / "a") as second:
            second.write_text("second")
        assert (tmp_path / "a").read_text() == "second"
    assert (tmp_path / "a").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
