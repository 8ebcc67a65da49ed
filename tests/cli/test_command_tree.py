"""Which commands a command line imports."""

from __future__ import annotations

import subprocess
import sys

_IMPORTED = """
import sys
from kokoro_tvm.cli._app import COMMANDS, main
try:
    main(sys.argv[1:])
except SystemExit:
    print(*(name for name in COMMANDS if f"kokoro_tvm.cli.{COMMANDS[name]}.{name}" in sys.modules))
"""


def _imported(*words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()


def test_a_command_waits_for_no_other() -> None:
    assert _imported("--debug", "say", "--help") == ["say"]
    assert _imported("recipe", "show", "--help") == ["recipe"]


def test_without_a_command_all_are_listed() -> None:
    assert "say" in _imported("--help") and "probe" in _imported("--help")
