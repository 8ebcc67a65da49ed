"""Open files of a bundle: the verified bytes are loaded, even if a path changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_bundle import compile_library, refresh, write_safetensors

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime import Synthesizer, read_bundle
from kokoro_tvm.runtime.bundle import verification
from kokoro_tvm.runtime.bundle.files import OpenFile, OpenFiles
from kokoro_tvm.runtime.session import tvm_runtime
from kokoro_tvm.runtime.session.tvm_runtime import private_copy
from kokoro_tvm.runtime.speech import synthesizer

TOKENS, REF_S = [0, 3, 20, 7, 0], np.array([0.5, -1.0, 0.25, 2.0], np.float32)
Change = Callable[[Path, bytes], None]


@pytest.fixture
def bundle(compiled: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle with libraries that no other test has loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tvm_runtime, "_modules", {})
    return Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))


def replace(path: Path, content: bytes) -> None:
    """Replace a file by another one."""
    (path.parent / "new").write_bytes(content)
    (path.parent / "new").replace(path)


def overwrite(path: Path, content: bytes) -> None:
    """Overwrite the content of a file."""
    with path.open("r+b") as stream:
        stream.write(content)
        stream.truncate()


def after_verification(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Run a function between verification and loading."""
    original = verification.verify_bundle

    def verify(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)
        change()

    monkeypatch.setattr(synthesizer, "verify_bundle", verify)


def test_synthesizer_opens_each_file_once(bundle: Path) -> None:
    """Audit hooks report files that Python opens; TVM gets paths outside the bundle."""
    code = """
import collections, json, os, sys
opened = collections.Counter()
def hook(event, arguments):
    if event == "open" and str(arguments[0]).startswith(sys.argv[1]):
        opened[os.path.basename(arguments[0])] += 1
sys.addaudithook(hook)
from kokoro_tvm import Synthesizer
speech = Synthesizer(sys.argv[1]).from_phonemes("abc.")
maps = open("/proc/self/maps").read() if os.path.exists("/proc/self/maps") else ""
assert ".so" not in "".join(line for line in maps.splitlines() if sys.argv[1] in line)
print(json.dumps(opened))
"""
    done = subprocess.run([sys.executable, "-c", code, str(bundle)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys((path.name for path in bundle.iterdir()), 1)


def test_synthesizer_closes_its_files(bundle: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not list open files")
    tts = Synthesizer(bundle)  # a mapping holds on to its file
    before = len(list(Path("/proc/self/fd").iterdir()))
    (bundle / "decoder-128.so").unlink()
    for _ in range(3):
        with pytest.raises(BundleError, match="is missing"):
            Synthesizer(bundle)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert tts.run(TOKENS, REF_S).audio.size > 0


@pytest.mark.parametrize("change", [replace, overwrite])
def test_synthesizer_executes_no_library_changed_after_verification(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    expected = Synthesizer(bundle).run(TOKENS, REF_S, seed=3).audio
    monkeypatch.setattr(tvm_runtime, "_modules", {})
    # It says the same of itself and gives its output transposed, which a session notices.
    other = tmp_path / "other.so"
    compile_library(other, "text_encoder", 16, "exact", channels_last=True)
    library = bundle / "text_encoder-16.so"
    after_verification(monkeypatch, lambda: change(library, other.read_bytes()))
    assert np.array_equal(Synthesizer(bundle).run(TOKENS, REF_S, seed=3).audio, expected)
    monkeypatch.undo()
    refresh(bundle)
    with pytest.raises(BundleError, match="text_encoder_forward returned"):  # or this would show nothing
        Synthesizer(bundle).run(TOKENS, REF_S)


@pytest.mark.parametrize("name", ["bert.safetensors", "voices.safetensors"])
def test_synthesizer_maps_no_weights_replaced_after_verification(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    expected = Synthesizer(bundle).from_phonemes("abc.").audio
    write_safetensors(tmp_path / "other", {"scale": np.ones(4)}, pad=64)
    after_verification(monkeypatch, lambda: replace(bundle / name, (tmp_path / "other").read_bytes()))
    assert np.array_equal(Synthesizer(bundle).from_phonemes("abc.").audio, expected)
    with pytest.raises(BundleError, match=name):
        Synthesizer(bundle)


def test_session_verifies_libraries_of_an_unverified_bundle(bundle: Path) -> None:
    from kokoro_tvm.runtime.session.session import Session

    opened = read_bundle(bundle)
    path = bundle / "f0n-32.so"
    overwrite(path, path.read_bytes()[:-1] + b"\1")
    with pytest.raises(BundleError, match=r"f0n-32\.so has sha256"):
        Session(opened, threads=1)


def test_private_copy_uses_a_private_folder_without_memfd(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = Synthesizer(bundle).run(TOKENS, REF_S, seed=3).audio
    monkeypatch.setattr(tvm_runtime, "_modules", {})
    monkeypatch.delattr(os, "memfd_create", raising=False)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    assert np.array_equal(Synthesizer(bundle).run(TOKENS, REF_S, seed=3).audio, expected)
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files in memory are Linux's")
def test_private_copy_is_sealed() -> None:
    with private_copy(b"content", "x.so") as path:
        assert Path(path).read_bytes() == b"content"
        with pytest.raises(PermissionError), Path(path).open("r+b", buffering=0) as stream:
            stream.write(b"other")
        assert Path(path).read_bytes() == b"content"


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files in memory are Linux's")
def test_private_copy_uses_no_path_twice() -> None:
    """The dynamic loader would return an earlier library for a known path."""
    paths = []
    for index in range(300):
        content = str(index).encode()
        with private_copy(content, "x.so") as path:
            assert Path(path).read_bytes() == content
            paths.append(path)
    assert len(set(paths)) == len(paths)
    assert max(map(len, paths)) < 100


def test_load_library_loads_equal_libraries_once(bundle: Path) -> None:
    ref = read_bundle(bundle).code_files()[0]
    with OpenFiles([ref]) as first, OpenFiles([ref]) as second:
        assert tvm_runtime.load_library(first[ref]) is tvm_runtime.load_library(second[ref])


def test_check_refuses_a_growing_file(bundle: Path) -> None:
    ref = read_bundle(bundle).voices
    file = OpenFile(ref)
    with ref.path.open("ab") as stream:
        stream.write(b"more")
    with pytest.raises(BundleError, match=r"voices\.safetensors has sha256"):
        file.check()
    file.close()
