"""What children do in tests."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

from kokoro_tvm.errors import ValidationError


def write(path: str, text: str) -> None:
    print(f"writing {path}")
    Path(path).write_text(text, encoding="utf-8")


def append(path: str, text: str) -> None:
    time.sleep(0.2)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)


def call_server(script: str) -> None:
    """A call of a server that is a shell script."""
    from kokoro_tvm.runners.process import Server

    Server(["sh", "-c", script], "stub 1.0").call(0, "decoder", [])


def nothing() -> None:
    pass


def refuse(message: str) -> None:
    raise ValidationError(message)


def stumble() -> None:
    for number in range(40):
        print(f"line {number}")
    raise ZeroDivisionError("nothing to divide by")


def leave(status: int) -> None:
    sys.exit(status)


def die(signal: int) -> None:
    print("last words", flush=True)
    os.kill(os.getpid(), signal)


def devour() -> None:
    bytearray(1 << 62)


def overflow(path: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def hang(path: str) -> None:
    """Leaves its own process id and that of a child of its own."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    Path(path).write_text(f"{os.getpid()} {sleeper.pid}", encoding="utf-8")
    print("hanging")
    time.sleep(1000)


def tell(path: str) -> None:
    """What a child finds: its server, the hash of a word, its standard input, its process group."""
    alone = os.getpgid(0) == os.getpid()
    result = [_server(), hash("kokoro"), sys.stdin.read() if sys.stdin else "", alone]
    Path(path).write_text("\n".join(map(str, result)), encoding="utf-8")


def load(module: str) -> None:
    __import__(module)


def _server() -> int:
    """The process a child was forked from: the parent of its watcher."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
