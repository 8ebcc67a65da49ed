"""What is printed, to the letter."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from tools.bench.support import complete_result

from kokoro_tvm.tools.bench.table import print_result

GOLDEN = Path(__file__).parent / "golden/table.txt"


def test_as_it_stands_in_the_golden_file() -> None:
    out = io.StringIO()
    print_result(complete_result(), Console(file=out, width=132, color_system=None))
    lines = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
    assert lines == GOLDEN.read_text(encoding="utf-8")


def test_a_run_that_was_cut_off_and_peers_that_were_held_say_so() -> None:
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
