"""Imports of the runtime: numpy and the TVM runtime, no packages of a build."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kokoro_tvm.runtime.session.tvm_runtime import without_torch

_REPORT = """
import sys
unwanted = set("torch doit tvm pydantic yaml safetensors soundfile spacy misaki transformers".split())
def check(when):
    found = unwanted & {name.partition(".")[0] for name in sys.modules}
    assert not found, f"{when}: {sorted(found)}"
later = "documents runtime.speech.sentences".split()
later += [f"runtime.text.{name}" for name in "frontend markup passages reading".split()]
later = [f"kokoro_tvm.{name}" for name in later] + ["decimal", "difflib"]
def early():
    return [name for name in sys.modules if name.startswith(tuple(later))]
"""
_IMPORT = (
    _REPORT
    + """
import kokoro_tvm.runtime
from kokoro_tvm import Synthesizer
check("import")
assert "tvm_ffi" not in sys.modules
assert not early(), early()
"""
)
_SPEAK = (
    _IMPORT
    + """
tts = Synthesizer(sys.argv[1])
assert not early(), early()  # what a text needs is imported with the first one
speech = tts.from_phonemes("abc.")
check("speaking")
maps = open("/proc/self/maps").read()
assert "libtvm_runtime" in maps
assert not [line for line in maps.splitlines() if "libtvm_compiler" in line or "libtorch" in line]
print(speech.audio.size)
"""
)


def _python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_no_heavy_modules() -> None:
    _python(_IMPORT)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/maps")
def test_synthesis_loads_no_heavy_modules(compiled: Callable[[str], Path]) -> None:
    assert int(_python(_SPEAK, str(compiled("exact")))) > 0


def test_runtime_works_beside_tvm_and_torch(compiled: Callable[[str], Path]) -> None:
    """A build's process has imported both, in either order."""
    speak = "from kokoro_tvm import Synthesizer; Synthesizer(sys.argv[1]).from_phonemes('abc.')"
    for code in (
        f"import sys, torch, tvm; {speak}",
        f"import sys; {speak}; import torch, tvm; torch.ones(1)",
    ):
        _python(code, str(compiled("exact")))


_TWO_THREADS = """
import sys, threading
from kokoro_tvm.runtime.session.tvm_runtime import load_tvm_ffi
begin = threading.Barrier(2)
failed = []
def user():
    begin.wait()
    try:
        import torch
        torch.ones(1)
    except BaseException as error:
        failed.append(error)
thread = threading.Thread(target=user)
thread.start()
begin.wait()
load_tvm_ffi()
thread.join()
assert not failed, failed
assert sys.modules["torch"].ones(1).item() == 1
"""


def test_without_torch_affects_no_other_thread() -> None:
    _python(_TWO_THREADS)


_HIDDEN = """
import sys, threading
from pathlib import Path
from kokoro_tvm.runtime.session.tvm_runtime import without_torch
folder = Path(sys.argv[1])
(folder / "torch.py").write_text("loaded = True")
sys.path.insert(0, str(folder))
found = []
def user():
    import torch
    found.append(torch)
with without_torch():
    try:
        import torch
    except ModuleNotFoundError as error:
        assert error.name == "torch"
    else:
        raise SystemExit("torch is not hidden from the thread that hides it")
    assert "torch" not in sys.modules
    thread = threading.Thread(target=user)
    thread.start()
    thread.join()
    assert found[0].loaded
assert sys.modules["torch"] is found[0]
del sys.modules["torch"]
import torch
assert torch.loaded
"""


def test_without_torch_hides_torch_from_its_thread(tmp_path: Path) -> None:
    _python(_HIDDEN, str(tmp_path))


@pytest.mark.parametrize("present", [object(), None])
def test_without_torch_keeps_a_loaded_torch(monkeypatch: pytest.MonkeyPatch, present: object) -> None:
    monkeypatch.setitem(sys.modules, "torch", present)
    with without_torch():
        assert sys.modules["torch"] is present
    assert sys.modules["torch"] is present


def test_threads_do_not_pin_the_caller(compiled: Callable[[str], Path]) -> None:
    """TVM's default pins the calling thread to the first core."""
    if not sys.platform.startswith("linux"):
        pytest.skip("thread affinity is Linux's")
    code = """
import os, sys
from kokoro_tvm import Synthesizer
before = os.sched_getaffinity(0)
tts = Synthesizer(sys.argv[1], threads=1)
tts.from_phonemes("abc.")
assert os.sched_getaffinity(0) == before
assert all(os.sched_getaffinity(int(task)) == before for task in os.listdir("/proc/self/task"))
"""
    _python(code, str(compiled("exact")))
