"""Builds on a Dask cluster with two workers, one of which dies."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from dask_processes import REPOSITORY, Start, end, start_scheduler, start_worker, started, until

from kokoro_tvm.builder import cluster
from kokoro_tvm.builder.cluster import build_on_cluster
from kokoro_tvm.common.errors import BuildError, InputError

TARGET = {
    "model": "toy-model",
    "target": {"kind": "llvm", "mcpu": "native"},
    "precision": "float32",
    "length": "exact",
    "buckets": {"tokens": [32], "frames": [64]},
}
WANTED = ["toy.compile.bert-32", "toy.compile.duration-32", "toy.compile.text_encoder-32"]


def checkout(folder: Path) -> Path:
    """Return a folder with the recipes of a toy."""
    model = yaml.safe_load((REPOSITORY / "recipes" / "kokoro-82m.yaml").read_text(encoding="utf-8"))
    model["checkpoint"]["sources"] = [{"kind": "synthetic", "seed": 0, "size": "toy"}]
    model["gates"] = model.pop("gate_sets")["strict-float32"]
    del model["front_end"], model["gates"]["phonemes"]
    (folder / "recipes").mkdir(parents=True)
    for name, result in {"toy-model": model, "toy": TARGET}.items():
        text = yaml.safe_dump(result, allow_unicode=True)
        (folder / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    pytest.importorskip("distributed", reason="distributed comes with the extra [dask]")
    with started({"KOKORO_TVM_CACHE": str(tmp_path / "shared")}) as start:
        yield start


@pytest.mark.nightly
def test_build_survives_a_lost_worker(start: Start, tmp_path: Path) -> None:
    scheduler = start_scheduler(start, tmp_path / "scheduler")
    workers = [start_worker(start, checkout(tmp_path / name), scheduler) for name in ("one", "two")]
    asking = checkout(tmp_path / "asking")
    main = "from kokoro_tvm.cli import main; main()"
    build = start(asking, "-c", main, "build", "--scheduler", scheduler, *WANTED)
    output = asking / "output.txt"
    until(lambda: len(re.findall(r" built in .* on .*:.*/one$", output.read_text(), re.M)) >= 2, build)
    end(workers[0])
    assert build.wait() == 0, output.read_text()
    result = output.read_text()
    assert "/two" in result
    assert re.search(r"^0 stages built, \d+ restored, 0 up to date \(.* s\)\.$", result, re.M)
    # What the dead one had finished is not built again: it is taken from the cache.
    built = [set(re.findall(rf" (\S+) +built in .* on .*/{name}$", result, re.M)) for name in ("one", "two")]
    assert not built[0] & built[1]
    for name in WANTED:
        component = name.rpartition(".")[2]
        assert (asking / "artifacts" / ".build" / "toy" / component / f"{component}.so").is_file()


def test_build_on_cluster_needs_a_shared_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed comes with the extra [dask]")
    monkeypatch.delenv("KOKORO_TVM_CACHE", raising=False)
    with pytest.raises(InputError, match="set KOKORO_TVM_CACHE, here and for every worker"):
        build_on_cluster("tcp://127.0.0.1:9", [], {}, tmp_path, lambda *_: None)


def test_build_on_cluster_reports_an_unreachable_scheduler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("distributed", reason="distributed comes with the extra [dask]")
    monkeypatch.setenv("KOKORO_TVM_CACHE", str(tmp_path / "shared"))
    monkeypatch.setattr("kokoro_tvm.common.scheduler._CONNECT_TIMEOUT_S", 0.5)
    with pytest.raises(BuildError, match=r"the scheduler tcp://127\.0\.0\.1:9 cannot be reached"):
        build_on_cluster("tcp://127.0.0.1:9", [], {}, tmp_path, lambda *_: None)


def test_worker_without_the_stage_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "recipes", tmp_path / "recipes")
    monkeypatch.chdir(tmp_path)
    outcome = cluster._build("cpu.comple.bert-512", cluster._recipes_digest(tmp_path), [])
    assert (outcome.manner, outcome.kind) == ("failed", "BuildError")
    assert outcome.message == (
        f"cpu.comple.bert-512: not in {tmp_path} (there is no stage called `cpu.comple.bert-512`; did "
        "you mean `cpu.compile.bert-512`?); bring its code to the same state."
    )
