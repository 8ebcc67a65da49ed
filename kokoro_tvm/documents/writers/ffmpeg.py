"""M4B: AAC with chapters, through the program ffmpeg, because no library that can be assumed has AAC."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from kokoro_tvm.documents.writers.base import Floats, Mark, Writer
from kokoro_tvm.errors import InputError

__all__ = ["M4B", "metadata"]

_RATE = "64k"  # bits a second, which is transparent for one voice at 24 kHz


def metadata(title: str, sample_rate: int, marks: Sequence[Mark]) -> str:
    """Title and chapters as ffmpeg reads them: its format FFMETADATA1."""
    lines = [";FFMETADATA1", f"title={_escaped(title)}"]
    for mark in marks:
        lines += ["[CHAPTER]", f"TIMEBASE=1/{sample_rate}", f"START={mark.start}", f"END={mark.end}"]
        lines.append(f"title={_escaped(mark.title)}")
    return "\n".join(lines) + "\n"


def _program() -> str:
    import shutil

    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise InputError(
            "Writing M4B and M4A needs the program ffmpeg, which is not installed. Install it with the "
            "system's packages or `pip install imageio-ffmpeg`, or write FLAC, MP3 or Opus."
        ) from error


def _write(path: Path, blocks: Iterable[Floats], sample_rate: int, title: str, marks: Sequence[Mark]) -> None:
    import subprocess  # slow to import, and `import kokoro_tvm.runtime` is not
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        chapters = Path(folder) / "chapters.txt"
        chapters.write_text(metadata(title, sample_rate, marks), encoding="utf-8")
        errors = Path(folder) / "errors.txt"
        command = [_program(), "-nostdin", "-v", "error", "-y"]
        command += ["-f", "f32le", "-ar", str(sample_rate), "-ac", "1", "-i", "pipe:0"]
        command += ["-f", "ffmetadata", "-i", str(chapters), "-map", "0:a", "-map_metadata", "1"]
        command += [
            "-c:a",
            "aac",
            "-b:a",
            _RATE,
            "-f",
            "ipod",
            "-movflags",
            "+faststart",
            str(path.absolute()),
        ]
        with errors.open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log, stdout=log)
            assert process.stdin is not None
            try:
                for block in blocks:
                    process.stdin.write(np.ascontiguousarray(block, "<f4").tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass  # its status and its message say why
            except BaseException:
                process.kill()
                raise
            finally:
                status = process.wait()
        if status != 0:
            lines = errors.read_text(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"status {status}"
            raise InputError(f"{path.name} cannot be written: {Path(command[0]).name}: {reason}")


def _escaped(text: str) -> str:
    return "".join("\\" + char if char in "=;#\\\n" else char for char in text)


M4B = Writer(check=lambda: (_program(), None)[1], write=_write)
