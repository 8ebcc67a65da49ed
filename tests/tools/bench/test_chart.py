"""Chart of a result."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tools.bench.support import complete_result, measured, timed

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.tools.bench.chart import _points, can_draw, draw_chart

pytestmark = [
    pytest.mark.slow("needs matplotlib"),
    pytest.mark.skipif(not can_draw(), reason="matplotlib comes with the extra [lab]"),
]


def test_draw_chart_writes_a_png(tmp_path: Path) -> None:
    draw_chart(tmp_path / "bench.png", complete_result())
    head = (tmp_path / "bench.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:])
    assert 500 < width < 2000 and 200 < height < 2000


def test_points_are_systems_with_speed_and_fidelity() -> None:
    points = {system.name: (distance, speed) for distance, speed, system in _points(complete_result())}
    assert points == {
        "cpu": (1e-4, pytest.approx(1.5 / 0.21)),  # at the edge of the chart
        "cpu-bf16": (pytest.approx(3.8e-4), pytest.approx(15.0)),
        "pytorch": (pytest.approx(2.9e-4), pytest.approx(3.0)),
    }


def test_names_of_a_crowd_are_drawn_without_room(tmp_path: Path) -> None:
    crowd = [measured(f"a{i}", "float32", timed("short", 0.5, 1.5), fidelity=0.9) for i in range(20)]
    result = complete_result().model_copy(update={"systems": tuple(crowd)})
    draw_chart(tmp_path / "bench.png", result)
    assert (tmp_path / "bench.png").is_file()


def test_draw_chart_refuses_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        draw_chart(tmp_path / "missing" / "bench.png", complete_result())
