"""The benchmark in Node: processes speak the bundle in turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from elsewhere import obstacle

from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.tools.bench.child import MeasuredProcessError
from kokoro_tvm.tools.bench.measure import build_utterances
from kokoro_tvm.tools.bench.texts import TEXTS
from kokoro_tvm.tools.bench.web.__main__ import WebSystem, measure
from kokoro_tvm.web import WEB

pytestmark = [
    pytest.mark.slow("runs the bundle for WebAssembly"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]


def test_measure_covers_texts_and_threads(bundle: Path) -> None:
    request = {"kind": "bundle", "web": str(WEB), "path": str(bundle)}
    (short,) = build_utterances(TEXTS[0], read_bundle(bundle))
    systems = [WebSystem("one", request), WebSystem("other", request)]
    timings = measure(systems, [1, 2], {"short": short}, rounds=2)
    keys = [(t.system, t.threads, t.text) for t in timings]
    assert keys == [("one", 1, "short"), ("other", 1, "short"), ("one", 2, "short"), ("other", 2, "short")]
    assert len({t.samples for t in timings}) == 1
    for timing in timings:
        assert timing.samples > 0
        assert len(timing.seconds_s) == 2
        assert timing.rtf > 0
        assert timing.peak_rss_bytes > 1 << 20


def test_measure_fails_if_a_system_cannot_be_opened(tmp_path: Path) -> None:
    request = {"kind": "bundle", "web": str(WEB), "path": str(tmp_path / "none")}
    with pytest.raises(MeasuredProcessError, match="cannot be had"):
        measure([WebSystem("one", request)], [1], {}, rounds=1)
