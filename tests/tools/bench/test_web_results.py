"""Results of `python -m kokoro_tvm.tools.bench.web` as a file and as a table."""

from __future__ import annotations

from kokoro_tvm.tools.bench.web.results import WebResult, WebTiming, rows


def timing(system: str, threads: int, text: str, *seconds: float, peak: int = 500_000_000) -> WebTiming:
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
        timing("ours", 1, "short", 1.0, 3.0, 1.2),
        timing("ours", 1, "long", 2.0, peak=700_000_000),
        timing("theirs", 1, "short", 4.0),
    ),
)


def test_rows_have_the_median_factor_of_every_text() -> None:
    assert list(rows(RESULT)) == [
        ["system", "threads", "short, 2.0 s", "long, 2.0 s", "peak memory, long"],
        ["ours", "1", "0.60", "1.00", "700 MB"],
        ["theirs", "1", "2.00", "–", "500 MB"],
    ]
