"""Builds on a file system of its own that grows page by page, or file by file, until there is room for all.

Arguments: the folder where it is mounted, and "pages" or "files". After every build that found no room, what
the store holds is read byte by byte. Prints how many there were.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from many import NAMES, stages

from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.errors import BuildError

PAGE = 4  # KiB


def main(folder: Path, what: str) -> None:
    failed = 0
    with tempfile.TemporaryDirectory() as elsewhere:
        room(folder, what, 1)
        while not build(folder, Path(elsewhere, "ran")):
            failed += 1
            assert failed < 1000
            faults = [fault for _, fault in Store(folder / ".store", paranoid=True).audit() if fault]
            assert not faults, faults
            room(folder, what, failed + 1)
    assert {p.name: p.read_text() for p in (folder / "seen").iterdir()} == {name: name for name in NAMES}
    print(failed)


def room(folder: Path, what: str, count: int) -> None:
    size = f"size={count * PAGE}k" if what == "pages" else f"nr_inodes={count + 1}"  # one is the folder
    subprocess.run(["mount", "-o", f"remount,{size}", str(folder)], check=True)


def build(folder: Path, ran: Path) -> bool:
    """Whether there was room for it."""
    for stage in stages(folder, ran, 0):
        try:
            stage.run()
        except BuildError as error:
            assert re.search(r"(cannot be written: t|T)he disk is full", str(error)), str(error)
            assert str(folder) in str(error)
            return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
