"""The runtime on systems without /proc, /sys, CPU affinity, memfd and fork hooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_bundle import edit_manifest

from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.session import tvm_runtime
from kokoro_tvm.runtime.threads import usable_cores

_BARE = """
import concurrent.futures, json, os, pathlib, random, sys, tempfile, warnings
for name in ("sched_getaffinity", "sched_setaffinity", "memfd_create", "register_at_fork", "O_NONBLOCK"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("is_file", "is_dir", "exists"):
    def answer(path, *rest, original=getattr(pathlib.Path, name), **options):
        return not str(path).startswith(("/proc", "/sys")) and original(path, *rest, **options)
    setattr(pathlib.Path, name, answer)
def hook(event, arguments):
    if event in ("open", "os.listdir") and str(arguments[0]).startswith(("/proc", "/sys")):
        raise FileNotFoundError(arguments[0])
sys.addaudithook(hook)
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.runtime.threads import usable_cores
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    audio = Synthesizer(sys.argv[1]).run([0, 5, 3, 0], [1.0] * 4).audio
print(json.dumps({
    "features": features_of_cpu(), "cores": usable_cores(), "audio": audio.tolist(),
    "warnings": [str(warning.message) for warning in caught],
}))
"""


def test_runtime_works_on_other_systems(compiled: Callable[[str], Path], tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))
    expected = Synthesizer(bundle).run([0, 5, 3, 0], [1.0] * 4).audio
    edit_manifest(bundle, lambda manifest: manifest.update(cpu_features=["avx99"]))
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _BARE, str(bundle)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["audio"] == expected.tolist()
    assert report["features"] is None
    assert report["cores"] == os.cpu_count()
    (warning,) = report["warnings"]
    assert "does not list its CPU's features" in warning and "avx99" in warning


def test_usable_cores_without_affinity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for count, cores in ((6, 6), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        assert usable_cores(tmp_path / "none") == cores
        assert tvm_runtime.pool_size(1) == cores


def test_features_of_cpu_without_cpuinfo(tmp_path: Path) -> None:
    assert features_of_cpu(tmp_path / "none") is None


def test_verify_bundle_has_no_cache_on_windows(
    compiled: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("kokoro_tvm.runtime.bundle.verification._CTIME_IS_CHANGE", False)
    Synthesizer(compiled("exact"))
    assert not list(tmp_path.iterdir())
