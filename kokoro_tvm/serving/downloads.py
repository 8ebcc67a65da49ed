"""Files of audio that `return_download_link` keeps for a while."""

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

from kokoro_tvm.runtime.notices import Notice
from kokoro_tvm.runtime.speech.stream import Chunk
from kokoro_tvm.serving.bodies import AudioBody, Body
from kokoro_tvm.serving.encoding import FORMATS
from kokoro_tvm.serving.errors import ApiError

_NAME = re.compile(rf"[0-9a-f]{{32}}\.({'|'.join(FORMATS)})")
_PART = ".part"  # suffix of files that are not complete
_log = logging.getLogger("kokoro_tvm.serving")


class Downloads:
    """Folder of files with names that nobody can guess, within a size and an age.

    Threads and processes may share it. `close` deletes a temporary folder.
    """

    def __init__(self, folder: str | None, max_bytes: int, age_s: float) -> None:
        """Describe a folder.

        Args:
            folder: None for a temporary one.
            max_bytes: Bytes of all files.
            age_s: Seconds that a file is kept.
        """
        self._folder = None if folder is None else Path(folder)
        self._is_temporary = folder is None
        self._max_bytes = max_bytes
        self._age_s = age_s
        self._lock = threading.Lock()

    def create(self, format: str) -> Download:
        """Create a file, and delete old files, and the oldest beyond `max_bytes`.

        Raises OSError if it cannot be written.
        """
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="kokoro-tvm-downloads-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._delete_old(self._folder)
        return Download(self._folder / f"{secrets.token_hex(16)}.{format}", self._max_bytes)

    def find(self, name: str) -> Path:
        """Return the complete file of a name. Raises ApiError, status 404, if there is none."""
        if self._folder is not None and _NAME.fullmatch(name):
            path = self._folder / name
            with suppress(OSError):
                if path.stat().st_mtime > time.time() - self._age_s:
                    return path
        raise ApiError(404, "There is no such file, or not any more.", code="not_found")

    def close(self) -> None:
        """Delete a temporary folder."""
        if self._is_temporary and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _delete_old(self, folder: Path) -> None:
        """Delete files that are too old, and the oldest beyond the total size."""
        files = []
        for path in folder.iterdir():
            if _NAME.fullmatch(path.name.removesuffix(_PART)):  # other files in the folder are not ours
                with suppress(OSError):  # another process has deleted it
                    files.append((path.stat().st_mtime, path.stat().st_size, path))
        total, oldest = 0, time.time() - self._age_s
        for changed, size, path in sorted(files, reverse=True):
            total += size
            if changed <= oldest or total > self._max_bytes:
                path.unlink(missing_ok=True)


class Download:
    """File that is written in parts, and gets its name when it is complete.

    A disk that fails costs the file, not the speech: the failure is logged, and there is no such file.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = f"/download/{path.name}"
        """Below `/v1`, as the header X-Download-Path has it."""
        self._path = path
        self._part = path.with_name(path.name + _PART)
        self._free_bytes = max_bytes
        self._part.touch()

    def write(self, data: bytes) -> None:
        """Append to the file. If it is too large or the disk fails, delete it and write nothing more."""
        self._free_bytes -= len(data)
        if self._free_bytes < 0:
            self._abandon("it is larger than `download_size_mib`")
        elif self._part.exists():
            try:
                with self._part.open("ab") as file:
                    file.write(data)
            except OSError as error:
                self._abandon(str(error))

    def finish(self) -> None:
        """Give the complete file its name; do nothing if it was deleted."""
        with suppress(FileNotFoundError):  # abandoned, or too old by now
            self._part.rename(self._path)

    def drop(self) -> None:
        """Delete a file that will not be complete."""
        self._part.unlink(missing_ok=True)

    def _abandon(self, reason: str) -> None:
        """Delete the file and log why, unless it is deleted already."""
        if self._part.exists():
            _log.warning("download not kept", extra={"error": reason})
            self.drop()


class _RecordedBody:
    """Body whose audio a download gets as well, in a format of its own."""

    def __init__(self, body: Body, audio: AudioBody, download: Download) -> None:
        self._body = body
        self._audio = audio
        self._download = download
        self.media_type = body.media_type
        self.size: int | None = None  # a client that counts bytes would fetch the file before it is complete

    def write(self, chunk: Chunk) -> bytes:
        """Encode a chunk for both."""
        self._download.write(self._audio.write(chunk))
        return self._body.write(chunk)

    def note(self, notices: Sequence[Notice]) -> bytes:
        """Encode notices for the response alone."""
        return self._body.note(notices)

    def close(self) -> bytes:
        """Complete the download, and return the end of the body."""
        self._download.write(self._audio.close())
        self._download.finish()
        return self._body.close()

    def fail(self, error: ApiError) -> bytes | None:
        """Delete the download, and return the end of the body."""
        self._download.drop()
        return self._body.fail(error)


def with_download(
    create_body: Callable[[int | None], Body],
    download: Download,
    open_audio: Callable[[int | None], AudioBody],
) -> Callable[[int | None], Body]:
    """Wrap a factory of bodies: a download gets the audio as well, encoded by `open_audio`."""
    return lambda samples: _RecordedBody(create_body(samples), open_audio(samples), download)


def choose_file_name(requested: str, name: str) -> str:
    """Return the safe part of the name that a client requests, with the suffix of the file."""
    stem = re.sub(r"\.[A-Za-z0-9]{1,5}$", "", requested)
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", stem).strip("._-")[:100].strip("._-")
    return f"{stem}{Path(name).suffix}" if stem else name
