"""Bundles and home folders that are read-only, full, missing or partially installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kokoro_tvm.common import bundles
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime import Synthesizer, read_bundle

SPEAK = """
import sys
from kokoro_tvm.runtime.bundle import verification
from kokoro_tvm.runtime import Synthesizer, write_wav
from kokoro_tvm.common.errors import InputError
verification._LARGE_BYTES = 1  # bytes: the toy's files are large ones, which are remembered where that can be
verification._SETTLED_S = -60.0
for _ in range(2):
    speech = Synthesizer(sys.argv[1], threads=1).from_phonemes("abc.")
assert speech.audio.any()
try:
    write_wav(sys.argv[2], speech.audio, 24000)
    print("written")
except InputError as error:
    print(error)
"""
READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'
FULL = (
    'cp -r "$1" "$1.copy"; mount -t tmpfs -o size=4m tmpfs "$1"; cp -r "$1.copy/." "$1"; '
    'cat /dev/zero > "$1/zeros" 2>/dev/null || true'
)


def speak(bundle: Path, home: Path, output: Path, script: str = "true", place: Path | None = None) -> str:
    """Run a child after a mount `script` at `place`, and return its output."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare(1), to mount file systems that nobody else sees")
    within = [*unshare, "sh", "-e", "-c", f'{script}; shift; exec "$@"', "sh", str(place or home)]
    tried = subprocess.run([*within, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"this system does not allow what it takes: {tried.stderr.strip()}")
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    command = [*within, sys.executable, "-c", SPEAK, str(bundle), str(output)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment | {"HOME": str(home)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def bundle(compiled: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_synthesizer_opens_a_read_only_bundle(bundle: Path, home: Path) -> None:
    """The output is beside the bundle; the cache is in the home folder."""
    printed = speak(bundle, home, bundle / "a.wav", READ_ONLY, bundle)
    assert printed == f"The folder {bundle} for a.wav is not writable. Name another file.\n"
    assert len(list((home / ".cache" / "kokoro-tvm" / "verified").iterdir())) == 1


def test_synthesizer_opens_a_bundle_on_a_full_disk(bundle: Path, home: Path) -> None:
    printed = speak(bundle, home, bundle / "a.wav", FULL, bundle)
    assert printed == f"{bundle}/a.wav cannot be written: No space left on device. Name another file.\n"


@pytest.mark.parametrize("script", [READ_ONLY, FULL], ids=["read-only", "full"])
def test_synthesizer_works_with_a_read_only_home(
    bundle: Path, home: Path, tmp_path: Path, script: str
) -> None:
    assert speak(bundle, home, tmp_path / "a.wav", script, home) == "written\n"
    assert list(home.iterdir()) == []


def test_synthesizer_works_without_a_home(bundle: Path, tmp_path: Path) -> None:
    assert speak(bundle, Path("/proc/nowhere"), tmp_path / "a.wav") == "written\n"


@pytest.mark.parametrize("fraction", [0, 0.5], ids=["missing", "half"])
def test_synthesizer_refuses_a_half_installed_wheel(
    plain_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fraction: float
) -> None:
    """pip was interrupted: the error names the file."""
    package = tmp_path / "site-packages" / "kokoro_tvm"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bundles, "__file__", str(package / "common" / "bundles.py"))
    installed = package / "bundles" / "toy"
    for file in read_bundle(plain_bundle).files():
        shutil.copytree(plain_bundle, installed)
        path = installed / file.path.name
        content = path.read_bytes()
        path.unlink()
        if fraction:
            path.write_bytes(content[: int(fraction * len(content))])
        with pytest.raises(
            BundleError, match=rf"{path} (is missing from|has \d+ bytes, but).*Copy the bundle"
        ):
            Synthesizer()
        shutil.rmtree(installed)
    shutil.copytree(plain_bundle, installed, ignore=lambda *_: {"bundle.json"})
    with pytest.raises(BundleError, match="There is no bundle at artifacts/cpu"):
        Synthesizer()
