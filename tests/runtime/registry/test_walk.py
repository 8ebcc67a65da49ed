"""The commands that pull and speak, with the packages of the base installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from base_install import link_base
from registries import REGISTRY, debian_registry
from toys import PHONEMES, speak

from kokoro_tvm.publish import distribution
from kokoro_tvm.publish.push import push
from kokoro_tvm.runtime.registry.address import parse_place

CALL = "import sys; sys.path[:0] = sys.argv[1:3]; from kokoro_tvm.cli import main; main(sys.argv[3:])"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of packages: the runtime's wings, without a bundle, and the base installation."""
    folder = tmp_path_factory.mktemp("installed")
    for source in distribution._list_sources():
        target = folder / "package" / "kokoro_tvm" / source.relative_to(distribution._PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    about = folder / "package" / "kokoro_tvm-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(distribution._metadata("0"), encoding="utf-8")
    return folder / "package", link_base(folder / "base")


def run(installed: tuple[Path, Path], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in an empty folder, with an empty home."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "COLUMNS": "100"}
    environment |= {name: value for name, value in os.environ.items() if name == "KOKORO_TVM_REGISTRY"}
    command = [sys.executable, "-I", "-S", "-c", CALL, *map(str, installed), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def walk(installed: tuple[Path, Path], folder: Path, whom: str, toy: Path) -> None:
    before = run(installed, folder, "say", "--phonemes", PHONEMES)
    assert before.returncode == 5
    assert "kokoro-tvm pull` to bring one" in before.stderr
    pulled = run(installed, folder, "pull", "toy")
    assert pulled.returncode == 0, pulled.stderr
    assert f"not signed: {whom} could have changed it" in pulled.stderr
    assert pulled.stdout.endswith(f"into {folder}/home/.local/share/kokoro-tvm/bundles/toy\n")
    spoke = run(installed, folder, "say", "--phonemes", PHONEMES)
    assert spoke.returncode == 0, spoke.stderr
    expected = speak(toy).audio
    spoken = np.frombuffer((folder / "speech.wav").read_bytes()[-4 * expected.size :], "<f4")
    assert np.array_equal(spoken, expected)


def test_pull_then_say(
    installed: tuple[Path, Path], toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = tmp_path / "layout"
    monkeypatch.setenv("KOKORO_TVM_REGISTRY", str(layout))
    push(toy, parse_place(str(layout)), on_upload=lambda layer: None)
    walk(installed, tmp_path, f"anyone who can write to {layout}", toy)


@pytest.mark.slow("starts Debian's docker-registry")
@pytest.mark.skipif(REGISTRY is None, reason="docker-registry is not installed")
def test_pull_then_say_from_a_registry(
    installed: tuple[Path, Path], toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with debian_registry(tmp_path) as host:
        monkeypatch.setenv("KOKORO_TVM_REGISTRY", f"oci://{host}/kokoro/nightly")
        push(toy, parse_place(f"oci://{host}/kokoro/nightly:toy"), on_upload=lambda layer: None)
        again = push(toy, parse_place(f"oci://{host}/kokoro/nightly:toy"), on_upload=lambda layer: None)
        assert again.sent == 0
        walk(installed, tmp_path, f"the registry {host}", toy)


def test_trust_names_the_missing_package(installed: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "key.pub").write_text("-----BEGIN PUBLIC KEY-----\n")
    done = run(installed, tmp_path, "pull", "oci://127.0.0.1:1/a", "--trust", "key.pub")
    assert done.returncode == 3
    assert "The package cryptography is not installed, which this command needs." in done.stderr
    assert "Run `pip install 'kokoro-tvm[trust]'`." in done.stderr
