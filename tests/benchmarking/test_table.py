"""What is printed, to the letter."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from benchmarking.support import complete_result
from kokoro_tvm.bench.table import print_result

GOLDEN = Path(__file__).parent / "golden/table.txt"


def test_as_it_stands_in_the_golden_file() -> None:
    out = io.StringIO()
    print_result(complete_result(), Console(file=out, width=132, color_system=None))
    lines = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
    assert lines == GOLDEN.read_text(encoding="utf-8")
