"""What `python -m kokoro_tvm.tools.bench.web` measured: as a file and as a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.tools.bench.web.results import WebResult, WebTiming, rows


def spoken(system: str, threads: int, text: str, *seconds: float, peak: int = 500_000_000) -> WebTiming:
    return WebTiming(
        system=system,
        threads=threads,
        text=text,
        samples=48_000,
        first_s=9.0,
        seconds_s=seconds,
        peak_rss_bytes=peak,
    )


RESULT = WebResult(
    machine="a machine",
    node="Node 20",
    date="2026-11-24",
    rounds=3,
    others_cores=0.1,
    versions={"onnxruntime-web": "1.30.0"},
    spoken=(
        spoken("ours", 1, "short", 1.0, 3.0, 1.2),
        spoken("ours", 1, "long", 2.0, peak=700_000_000),
        spoken("theirs", 1, "short", 4.0),
    ),
)


def test_a_row_is_a_system_with_its_threads_and_the_median_factor_of_every_text() -> None:
    assert list(rows(RESULT)) == [
        ["system", "threads", "short, 2.0 s", "long, 2.0 s", "peak memory, long"],
        ["ours", "1", "0.60", "1.00", "700 MB"],
        ["theirs", "1", "2.00", "–", "500 MB"],
    ]


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    RESULT.write(tmp_path / "web.json")
    assert WebResult.read(tmp_path / "web.json") == RESULT


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"web\.json cannot be read"):
        WebResult.read(tmp_path / "web.json")
    (tmp_path / "web.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="is no result of"):
        WebResult.read(tmp_path / "web.json")
    with pytest.raises(InputError, match="cannot be written"):
        RESULT.write(tmp_path / "none" / "web.json")
