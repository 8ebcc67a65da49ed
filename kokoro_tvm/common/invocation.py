"""How the programs of this installation are called from here, for command lines in messages."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from kokoro_tvm.common.words import shorten_path

_QUOTED_PROGRAM = re.compile(r"(?<=`)(?:kokoro-tvm|doit)(?=[` ])")


def program(name: str) -> str:
    """Return what to type for a script of this installation: its name if PATH leads to it, else its path."""
    beside = Path(sys.executable).with_name(name)
    on_path = shutil.which(name)
    if not beside.is_file() or (on_path is not None and Path(on_path).resolve() == beside.resolve()):
        return name
    return str(shorten_path(beside))


def localize(message: str) -> str:
    """Replace `kokoro-tvm ...` and `doit ...` in a message by command lines that work from here."""
    return _QUOTED_PROGRAM.sub(lambda match: program(match[0]), message)
