"""Results of the benchmark and their file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.bench.support import absent, complete_result, measured, timed

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.tools.bench.results import Result, compare


def test_result_survives_a_file(tmp_path: Path) -> None:
    result = complete_result()
    result.write(tmp_path / "bench.json")
    assert Result.read(tmp_path / "bench.json") == result


def test_file_has_stable_names(tmp_path: Path) -> None:
    complete_result().write(tmp_path / "bench.json")
    data = json.loads((tmp_path / "bench.json").read_text())
    assert set(data) == set(Result.model_fields)
    system = data["systems"][0]
    assert {"name", "ours", "precision", "cold_start_s", "disk_bytes", "problem"} < set(system)
    assert set(system["texts"][0]) == {
        *("text", "audio_s", "first_s", "seconds_s", "median_s", "minimum_s"),
        *("rtf", "peak_rss_bytes", "components"),
    }
    component = system["texts"][0]["components"][0]
    assert set(component) == {"component", "seconds_s", "flops", "flops_per_s", "share_of_peak"}


def test_compare_finds_the_best_peer_by_precision_and_text() -> None:
    systems = (
        measured("cpu", "float32", timed("short", 1.0, 1.0), timed("long", 6.0, 9.0), ours=True),
        measured("pytorch", "float32", timed("short", 4.0, 1.0), timed("long", 8.0, 9.0)),
        measured("openvino", "float32", timed("short", 2.0, 1.0), timed("long", 9.0, 9.0)),
        measured("int8", "int8", timed("short", 1.5, 1.0)),
        absent("gone", "not run: no"),
    )
    ratios = {(c.text, c.against): (c.of, c.ratio) for c in compare(systems, ["short", "long", "minute"])}
    assert ratios == {
        ("short", "pytorch"): ("pytorch", 0.25),
        ("short", "best float32 peer"): ("openvino", 0.5),
        ("short", "best peer"): ("int8", 1.0 / 1.5),
        ("long", "pytorch"): ("pytorch", 0.75),
        ("long", "best float32 peer"): ("pytorch", 0.75),
        ("long", "best peer"): ("pytorch", 0.75),
    }


def test_compare_without_peers_is_empty() -> None:
    assert compare([measured("cpu", "float32", timed("short", 1.0, 1.0), ours=True)], ["short"]) == ()


def test_read_refuses_other_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read: No such file.*`kokoro-tvm bench` writes it"):
        Result.read(tmp_path / "none.json")
    (tmp_path / "other.json").write_text('{"systems": 3}')
    with pytest.raises(InputError, match="is no result of this version"):
        Result.read(tmp_path / "other.json")


def test_write_refuses_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        complete_result().write(tmp_path)
