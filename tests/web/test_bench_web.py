"""The benchmark of pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from elsewhere import obstacle

from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.tools.bench.child import MeasuredProcessError
from kokoro_tvm.tools.bench.measure import utterances_of
from kokoro_tvm.tools.bench.texts import TEXTS
from kokoro_tvm.tools.bench.web.__main__ import WebSystem, measure
from kokoro_tvm.web import WEB

pytestmark = [
    pytest.mark.slow("runs the bundle for WebAssembly"),
    pytest.mark.skipif(obstacle("wasm") is not None, reason=str(obstacle("wasm"))),
]


def test_bench_speaks_every_text_with_each_number_of_threads(bundle: Path) -> None:
    request = {"kind": "bundle", "web": str(WEB), "path": str(bundle)}
    (short,) = utterances_of(TEXTS[0], read_bundle(bundle))
    systems = [WebSystem("one", request), WebSystem("other", request)]
    found = measure(systems, [1, 2], {"short": short}, rounds=2)
    keys = [(each.system, each.threads, each.text) for each in found]
    assert keys == [("one", 1, "short"), ("other", 1, "short"), ("one", 2, "short"), ("other", 2, "short")]
    assert len({each.samples for each in found}) == 1
    for each in found:
        assert each.samples > 0
        assert len(each.seconds_s) == 2
        assert each.rtf > 0
        assert each.peak_rss_bytes > 1 << 20


def test_bench_reports_a_system_that_cannot_be_opened(tmp_path: Path) -> None:
    request = {"kind": "bundle", "web": str(WEB), "path": str(tmp_path / "none")}
    with pytest.raises(MeasuredProcessError, match="cannot be had"):
        measure([WebSystem("one", request)], [1], {}, rounds=1)
