"""A reader in a process of its own, with limits on memory and time.

PDF and DOCX are read by libraries that a small hostile file can keep busy for hours, or make fill all memory.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document

TIMEOUT_S = 300
MAX_MEMORY_BYTES = 4 << 30  # of address space; Linux alone enforces it

# -I: no module of the current folder is imported. The first line of the input is the parent's sys.path.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    f"from {__name__} import main; main(*sys.argv[1:])"
)


def read_isolated(module: str, data: bytes, path: Path, timeout_s: float = TIMEOUT_S) -> Document:
    """Return the document that `read` of a module returns, from a child process.

    Raises:
        InputError: `read` raised it, took longer than `timeout_s`, or needed too much memory.
    """
    command = [sys.executable, "-I", "-c", _PROGRAM, module, str(path)]
    try:
        child = subprocess.run(
            command,
            input=json.dumps(sys.path).encode() + b"\n" + data,
            capture_output=True,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"{path} cannot be read: it takes longer than {timeout_s:g} s. Convert it to text first."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: no process can be started ({error}).") from error
    if child.returncode != 0:
        lines = child.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"exit status {child.returncode}"
        raise InputError(f"{path} cannot be read: {reason}. Save or convert it again.")
    answer = json.loads(child.stdout)
    if "error" in answer:
        raise InputError(answer["error"])
    chapters = tuple(Chapter(**chapter) for chapter in answer.pop("chapters"))
    return Document(chapters=chapters, notes=tuple(answer.pop("notes")), **answer)


def main(module: str, path: str) -> None:
    """Read the document on standard input and write it to standard output, as JSON."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    try:
        document = importlib.import_module(module).read(sys.stdin.buffer.read(), Path(path))
        kept = ("title", "chapters", "notes")  # these readers leave most of the others empty
        answer = {name: value for name, value in asdict(document).items() if value or name in kept}
    except InputError as error:
        answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer))
