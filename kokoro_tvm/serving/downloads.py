"""Audio that is kept for a while, for whoever asks for it again: what `return_download_link` does."""

from __future__ import annotations

import logging
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from kokoro_tvm.runtime.speech.stream import Chunk
from kokoro_tvm.serving.bodies import Audio, Body
from kokoro_tvm.serving.encoding import FORMATS
from kokoro_tvm.serving.errors import ApiError

__all__ = ["Download", "Downloads", "kept", "save_as"]

_NAME = re.compile(rf"[0-9a-f]{{32}}\.({'|'.join(FORMATS)})")
_PART = ".part"  # of the names of files that are not complete
_log = logging.getLogger("kokoro_tvm.serving")


class Downloads:
    """Files of names that nobody can guess, in one folder, which keeps within a size and an age.

    Threads and processes may share it. `close` deletes a folder of its own.
    """

    def __init__(self, folder: str | None, most: int, age: float) -> None:
        """folder: None for a temporary one; most: bytes of all files; age: seconds that each is kept."""
        self._folder = None if folder is None else Path(folder)
        self._own = folder is None
        self._most = most
        self._age = age
        self._lock = threading.Lock()

    def create(self, format: str) -> Download:
        """A file to write to; those that are too old, or too many, make room. Raises OSError."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="kokoro-tvm-downloads-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._clean(self._folder)
        return Download(self._folder / f"{secrets.token_hex(16)}.{format}", self._most)

    def find(self, name: str) -> Path:
        """The complete file of a name. Raises ApiError, status 404, where there is none."""
        if self._folder is not None and _NAME.fullmatch(name):
            path = self._folder / name
            with suppress(OSError):
                if path.stat().st_mtime > time.time() - self._age:
                    return path
        raise ApiError(404, "There is no such file, or not any more.", code="not_found")

    def close(self) -> None:
        """Delete the folder, where it is a temporary one."""
        if self._own and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _clean(self, folder: Path) -> None:
        found = []
        for path in folder.iterdir():
            if _NAME.fullmatch(path.name.removesuffix(_PART)):  # whatever else is there is not ours
                with suppress(OSError):  # another process has deleted it
                    found.append((path.stat().st_mtime, path.stat().st_size, path))
        found.sort(reverse=True)
        held, oldest = 0, time.time() - self._age
        for changed, size, path in found:
            held += size
            if changed <= oldest or held > self._most:
                path.unlink(missing_ok=True)


class Download:
    """A file that is written in parts, and has its name when it is complete.

    A disk that fails costs the file, not the speech: that is logged, and there will be no such file.
    """

    def __init__(self, path: Path, most: int) -> None:
        """most: bytes."""
        self.path = f"/download/{path.name}"
        """Below `/v1`, as the header X-Download-Path has it."""
        self._path = path
        self._part = path.with_name(path.name + _PART)
        self._room = most
        self._part.touch()

    def write(self, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            self._give_up("it is larger than `download_size`")
        elif self._part.exists():
            try:
                with self._part.open("ab") as file:
                    file.write(data)
            except OSError as error:
                self._give_up(str(error))

    def finish(self) -> None:
        """All of it is written."""
        with suppress(FileNotFoundError):  # given up, or too old by now
            self._part.rename(self._path)

    def drop(self) -> None:
        """It will not be complete."""
        self._part.unlink(missing_ok=True)

    def _give_up(self, reason: str) -> None:
        if self._part.exists():
            _log.warning("download not kept", extra={"error": reason})
            self.drop()


class _Kept:
    """A body whose audio a download gets as well, in a format of its own."""

    def __init__(self, body: Body, audio: Audio, download: Download) -> None:
        self._body = body
        self._audio = audio
        self._download = download
        self.media_type = body.media_type
        self.size: int | None = None  # who counts bytes would ask for the file before it is complete

    def write(self, chunk: Chunk) -> bytes:
        self._download.write(self._audio.write(chunk))
        return self._body.write(chunk)

    def note(self, notices: Sequence[str]) -> bytes:
        return self._body.note(notices)

    def close(self) -> bytes:
        self._download.write(self._audio.close())
        self._download.finish()
        return self._body.close()

    def fail(self, error: ApiError) -> bytes | None:
        self._download.drop()
        return self._body.fail(error)


def kept(
    body: Callable[[int | None], Body], download: Download, format: str, gain: float
) -> Callable[[int | None], Body]:
    """What makes a body whose audio is kept as well, in a format and with a factor on it."""
    return lambda samples: _Kept(body(samples), Audio(format, gain, samples), download)


def save_as(wanted: str, name: str) -> str:
    """The name to save a file under: what a client wants, as far as it is safe, with the file's ending."""
    stem = re.sub(r"\.[A-Za-z0-9]{1,5}$", "", wanted)
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", stem).strip("._-")[:100].strip("._-")
    return f"{stem}{Path(name).suffix}" if stem else name
