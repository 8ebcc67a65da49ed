"""Functions of test stages, with the folder to write to and the inputs as arguments."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.common.errors import ValidationError

FILE = "out.txt"


def write(out: Path, inputs: Inputs, *, text: str, file: str = FILE, threads: int = 1) -> None:
    print(f"writing {file}")
    (out / file).write_text(text, encoding="utf-8")


def tally(
    out: Path, inputs: Inputs, *, file: str, text: str, seconds: float, cache: Path, again: bool = False
) -> None:
    """Sleep, and append a line to the cache."""
    time.sleep(seconds)
    cache.mkdir(exist_ok=True)
    with (cache / "lines").open("a", encoding="utf-8") as stream:
        stream.write(f"{text}\n")
    (out / file).write_text(text, encoding="utf-8")


def count(out: Path, inputs: Inputs, *, text: str, cache: Path, again: bool) -> None:
    """Append a line to the cache."""
    cache.mkdir(exist_ok=True)
    with (cache / "lines").open("a", encoding="utf-8") as stream:
        stream.write("1\n")
    (out / FILE).write_text("again" if again else "kept", encoding="utf-8")


def several(out: Path, inputs: Inputs, *, files: list[str]) -> None:
    for file in files:
        (out / file).write_text(file, encoding="utf-8")


def half(out: Path, inputs: Inputs, *, file: str, message: str = "") -> None:
    (out / file).write_text("half", encoding="utf-8")
    if message:
        raise ValidationError(message)


def spoil(out: Path, inputs: Inputs, *, text: str) -> None:
    """Write into an input in place."""
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
    for number in range(40):
        print(f"line {number}")
    raise ZeroDivisionError("nothing to divide by")


def die(out: Path, inputs: Inputs, *, signal: int) -> None:
    print("last words", flush=True)
    os.kill(os.getpid(), signal)


def devour(out: Path, inputs: Inputs) -> None:
    bytearray(1 << 62)


def hang(out: Path, inputs: Inputs) -> None:
    """Write the process ids of this worker and of its child, and sleep."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    (out / "pids").write_text(f"{os.getpid()} {sleeper.pid}", encoding="utf-8")
    print("hanging")
    time.sleep(1000)


def leave(out: Path, inputs: Inputs, *, status: int) -> None:
    sys.exit(status)


def overflow(out: Path, inputs: Inputs, *, path: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def load(out: Path, inputs: Inputs, *, module: str) -> None:
    __import__(module)


def tell(out: Path, inputs: Inputs) -> None:
    """Write the worker's server, the hash of a word, its standard input, and whether it leads its group."""
    alone = os.getpgid(0) == os.getpid()
    result = [os.getppid(), hash("kokoro"), sys.stdin.read() if sys.stdin else "", alone]
    (out / FILE).write_text("\n".join(map(str, result)), encoding="utf-8")


def call_server(out: Path, inputs: Inputs, *, script: str) -> None:
    """Call a server that is a shell script."""
    from kokoro_tvm.targets.runners.process import RunnerProcess

    RunnerProcess(["sh", "-c", script], "stub 1.0").call(0, "decoder", [])


def listing(out: Path, inputs: Inputs) -> None:
    """Write the inputs as JSON."""
    found = {name: [str(path), inputs.sha256(name), path.read_text()] for name, path in inputs.items()}
    (out / FILE).write_text(json.dumps(found), encoding="utf-8")


def obtain(out: Path, inputs: Inputs, *, source: dict[str, str], addresses: list[str]) -> None:
    """Write the word of `source`, and `source` as the manifest."""
    (out / "thing").write_text(source["word"], encoding="utf-8")
    (out / "source.json").write_text(json.dumps(source), encoding="utf-8")


def peek(
    out: Path, inputs: Inputs, *, path: str, manner: str, cache: Path | None = None, again: bool = False
) -> None:
    """Open a file in one of several ways."""
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
