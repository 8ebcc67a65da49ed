"""Printed tables of the benchmark."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from tools.bench.support import complete_result

from kokoro_tvm.tools.bench.table import print_result

GOLDEN = Path(__file__).parent / "golden/table.txt"


def test_print_result_equals_the_golden_file() -> None:
    out = io.StringIO()
    print_result(complete_result(), Console(file=out, width=80, color_system=None))
    lines = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
    assert max(map(len, lines.splitlines())) <= 80
    assert lines == GOLDEN.read_text(encoding="utf-8")


def test_print_result_shows_interruption_and_isa() -> None:
    result = complete_result()
    systems = tuple(
        system if system.ours else system.model_copy(update={"variables": {"ONEDNN_MAX_CPU_ISA": "AVX2"}})
        for system in result.systems
    )
    out = io.StringIO()
    update = {"complete": False, "isa": "avx2", "systems": systems}
    print_result(result.model_copy(update=update), Console(file=out, width=132))
    assert out.getvalue().splitlines()[2:4] == [
        "the run was cut off before its end",
        "peers held to AVX2 by ONEDNN_MAX_CPU_ISA=AVX2",
    ]
