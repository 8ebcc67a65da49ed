"""What stages do in tests: functions of the folder to write to and of the inputs, as real ones are."""

from __future__ import annotations

import ctypes
import json
import shutil
import time
from contextlib import suppress
from pathlib import Path

import fakes

from kokoro_tvm.engine.inputs import Inputs
from kokoro_tvm.errors import ValidationError

FILE = "out.txt"


def write(out: Path, inputs: Inputs, *, text: str, file: str = FILE, threads: int = 1) -> None:
    print(f"writing {file}")
    (out / file).write_text(text, encoding="utf-8")


def tally(out: Path, inputs: Inputs, *, file: str, text: str, seconds: float, cache: Path) -> None:
    """Takes its time, and leaves a line of its own in the cache."""
    time.sleep(seconds)
    cache.mkdir(exist_ok=True)
    with (cache / "lines").open("a", encoding="utf-8") as stream:
        stream.write(f"{text}\n")
    (out / file).write_text(text, encoding="utf-8")


def several(out: Path, inputs: Inputs, *, files: list[str]) -> None:
    for file in files:
        (out / file).write_text(file, encoding="utf-8")


def half(out: Path, inputs: Inputs, *, file: str, message: str = "") -> None:
    (out / file).write_text("half", encoding="utf-8")
    if message:
        raise ValidationError(message)


def spoil(out: Path, inputs: Inputs, *, text: str) -> None:
    """Writes into its input in place, which nothing but an accident does."""
    path = inputs["first"]
    path.chmod(0o644)
    path.write_bytes(b"else")
    write(out, inputs, text=text)


def append(out: Path, inputs: Inputs, *, text: str) -> None:
    time.sleep(0.2)
    with (out / FILE).open("a", encoding="utf-8") as stream:
        stream.write(text)


def span(out: Path, inputs: Inputs, *, file: str) -> None:
    began = time.monotonic()
    time.sleep(0.1)
    (out / file).write_text(f"{began} {time.monotonic()}", encoding="utf-8")


def nothing(out: Path, inputs: Inputs) -> None:
    pass


def refuse(out: Path, inputs: Inputs, *, message: str) -> None:
    raise ValidationError(message)


def stumble(out: Path, inputs: Inputs) -> None:
    fakes.stumble()


def die(out: Path, inputs: Inputs, *, signal: int) -> None:
    fakes.die(signal)


def devour(out: Path, inputs: Inputs) -> None:
    fakes.devour()


def hang(out: Path, inputs: Inputs) -> None:
    fakes.hang(str(out / "pids"))


def listing(out: Path, inputs: Inputs) -> None:
    """What it was given, as JSON."""
    found = {name: [str(path), inputs.sha256(name), path.read_text()] for name, path in inputs.items()}
    (out / FILE).write_text(json.dumps(found), encoding="utf-8")


def obtain(out: Path, inputs: Inputs, *, source: dict[str, str], addresses: list[str]) -> None:
    """Obtains something, and says what it was in the last of its files."""
    (out / "thing").write_text(source["word"], encoding="utf-8")
    (out / "source.json").write_text(json.dumps(source), encoding="utf-8")


def peek(out: Path, inputs: Inputs, *, path: str, manner: str, cache: Path | None = None) -> None:
    """Opens a file, declared or not, in one of several manners."""
    if manner == "python":
        Path(path).read_bytes()
    elif manner == "dlopen":
        ctypes.CDLL(path)
    elif manner == "swallowed":
        with suppress(Exception):
            Path(path).read_bytes()
    elif manner == "safetensors":
        from safetensors import safe_open

        _kept.append(safe_open(path, framework="numpy"))
    write(out, inputs, text=manner)


_kept: list[object] = []  # what is mapped stays so until the stage ends


def copy(out: Path, inputs: Inputs, *, path: str) -> None:
    shutil.copyfile(path, out / "copy")
