"""Audio on disk while a long text is spoken, so that an interrupted book resumes where it stopped.

Beside the output lie `.NAME.spool`, float32 samples, and `.NAME.spool.json`, the digest of the request with
the numbers of pieces and samples. Samples beyond that number are dropped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.output import write_text
from kokoro_tvm.runtime.locking import open_locked

_BLOCK = 1 << 18  # samples of a read


class Spool:
    """An append-only file of audio pieces; this process holds its lock.

    Attributes:
        pieces: in the file.
        samples: of all pieces.
    """

    def __init__(self, output: Path, request: str) -> None:
        """Open or create the spool of an output file.

        Args:
            output: the file that is written at the end.
            request: digest of everything that decides about the samples; a spool of another one is emptied.

        Raises:
            InputError: the spool cannot be written, or another process writes it.
        """
        self._audio = output.with_name(f".{output.name}.spool")
        self._record = output.with_name(f".{output.name}.spool.json")
        self._request = request
        try:
            self._stream = open_locked(self._audio, output)
            self.pieces, self.samples = self._read_record()
            self._stream.truncate(4 * self.samples)
        except OSError as error:
            raise InputError(f"{self._audio} cannot be written: {error.strerror or error}.") from error

    def add(self, audio: NDArray[np.float32]) -> None:
        """Append a piece (samples,); raises InputError if the disk is full."""
        try:
            self._stream.write(np.ascontiguousarray(audio, "<f4").tobytes())
            self._stream.flush()
        except OSError as error:
            raise InputError(f"{self._audio} cannot be written: {error.strerror or error}.") from error
        self.pieces, self.samples = self.pieces + 1, self.samples + audio.size
        write_text(self._record, json.dumps([self._request, self.pieces, self.samples]))

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Yield all samples, float32, in blocks; raises InputError if there are more or fewer than added."""
        self._stream.seek(0)
        samples = 0
        while data := self._stream.read(4 * _BLOCK):
            whole = data[: len(data) & ~3]
            samples += len(whole) // 4
            yield np.frombuffer(whole, "<f4").astype(np.float32)
        if samples != self.samples:
            raise InputError(
                f"{self._audio} has {samples} samples where {self.samples} were written: something else "
                "changed it. Run the same command again."
            )

    def close(self) -> None:
        """Release the lock and keep the files."""
        self._stream.close()

    def remove(self) -> None:
        """Delete the files."""
        # Windows deletes no open file. Elsewhere, no other process may lock it before it is gone.
        if sys.platform == "win32":
            self.close()
        for path in (self._record, self._audio):
            path.unlink(missing_ok=True)
        self.close()

    def _read_record(self) -> tuple[int, int]:
        """Return (pieces, samples) of the same request, or (0, 0)."""
        try:
            request, pieces, samples = json.loads(self._record.read_text(encoding="utf-8"))
            whole = self._audio.stat().st_size >= 4 * samples
        except (OSError, ValueError, TypeError):
            return 0, 0
        is_valid = request == self._request and isinstance(pieces, int) and isinstance(samples, int)
        return (pieces, samples) if is_valid and whole and min(pieces, samples) >= 0 else (0, 0)
