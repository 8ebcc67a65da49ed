"""Wheels and archives of a bundle."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from base_install import link_base
from toys import PHONEMES, speak

from kokoro_tvm import Synthesizer, __version__
from kokoro_tvm.common.errors import BuildError, BundleError, InputError
from kokoro_tvm.publish.distribution import open_verified_bundle, write_archive, write_package, write_wheel

SPEAK = """
import sys
sys.path[:0] = sys.argv[1:3]
from kokoro_tvm import Synthesizer
from kokoro_tvm.runtime import write_wav
speech = Synthesizer().from_phonemes(sys.argv[3], voice="af_heart")
write_wav(sys.argv[4], speech.audio, speech.sample_rate)
print(*sorted(name for name in ("torch", "tvm", "typer", "pydantic") if name in sys.modules))
"""


@pytest.fixture(scope="module")
def wheel(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wheel(open_verified_bundle(toy), tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of the installed wheel and of the runtime's requirements."""
    folder = tmp_path_factory.mktemp("environment")
    target = folder / "wheel"
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*command, "--quiet", "--target", str(target), str(wheel)], check=True)
    return target, link_base(folder / "base")


def test_wheel_speaks_without_other_packages(
    environment: tuple[Path, Path], toy: Path, tmp_path: Path
) -> None:
    """The samples equal the bundle's. Neither the compiler nor torch can be imported."""
    command = [sys.executable, "-I", "-S", "-c", SPEAK, *map(str, environment), PHONEMES]
    command.append(str(tmp_path / "speech.wav"))
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert process.stdout == "\n"
    spoken = np.frombuffer((tmp_path / "speech.wav").read_bytes()[-4 * speak(toy).audio.size :], "<f4")
    assert np.array_equal(spoken, speak(toy).audio)


def test_command_of_the_wheel_speaks(environment: tuple[Path, Path], tmp_path: Path) -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:3]; from kokoro_tvm.cli import main; main(sys.argv[3:])"
    command = [sys.executable, "-I", "-S", "-c", code, *map(str, environment), "say", "--phonemes", PHONEMES]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "speech.wav").stat().st_size > 1000


def test_wheel_has_only_the_folders_that_speak(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        folders = {
            n.split("/")[1] for n in content.namelist() if n.startswith("kokoro_tvm/") and n.count("/") > 1
        }
        commands = {n.split("/")[2] for n in content.namelist() if n.startswith("kokoro_tvm/cli/")}
    assert folders == {"bundles", "cli", "common", "runtime", "serving", "web"}
    assert commands == {"__init__.py", "_app.py", "_output.py", "_speech.py", "speak"}


def test_help_of_the_wheel_lists_its_own_commands(environment: tuple[Path, Path], tmp_path: Path) -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:3]; from kokoro_tvm.cli import main; main(['--help'])"
    command = [sys.executable, "-I", "-S", "-c", code, *map(str, environment)]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    listed = re.findall(r"^  ([a-z]+)  ", process.stdout, re.MULTILINE)
    assert listed == ["say", "batch", "phonemize", "voices", "pull", "inspect"]  # serve needs an extra


@pytest.mark.parametrize("command", ["build", "bench", "verify"])
def test_command_of_the_source_is_refused_in_the_wheel(
    environment: tuple[Path, Path], tmp_path: Path, command: str
) -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:3]; from kokoro_tvm.cli import main; main(sys.argv[3:])"
    run = [sys.executable, "-I", "-S", "-c", code, *map(str, environment), command]
    process = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == BuildError.exit_code, process.stderr
    assert "a bundle's wheel only speaks, and the other commands come with the source" in process.stderr


def test_wheel_has_metadata_and_manifest(wheel: Path, toy: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        (metadata,) = [name for name in content.namelist() if name.endswith("/METADATA")]
        text = content.read(metadata).decode()
        assert "\nVersion: 0.1.0+toy\n" in text
        required = [
            line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra" not in line
        ]
        assert [re.split(r"[^\w-]", line.partition(": ")[2])[0] for line in required] == [
            "numpy",
            "apache-tvm-ffi",
            "typer",
            "markdown-it-py",
        ]
        manifest = json.loads(content.read("kokoro_tvm/bundles/toy/bundle.json"))
        assert manifest == json.loads((toy / "bundle.json").read_text(encoding="utf-8"))


@pytest.mark.slow("makes a wheel again, and an archive twice")
def test_wheel_and_archive_are_reproducible(wheel: Path, toy: Path, tmp_path: Path) -> None:
    assert write_wheel(open_verified_bundle(toy), tmp_path).read_bytes() == wheel.read_bytes()
    one, two = (
        write_archive(open_verified_bundle(toy), tmp_path / name).read_bytes() for name in ("one", "two")
    )
    assert one == two


def test_unpacked_archive_speaks(toy: Path, tmp_path: Path) -> None:
    subprocess.run(
        ["tar", "-xf", write_archive(open_verified_bundle(toy), tmp_path), "-C", tmp_path], check=True
    )
    assert Synthesizer(tmp_path / "toy").bundle.recipe == "toy"


def test_package_refuses_a_damaged_bundle(toy_copy: Path, tmp_path: Path) -> None:
    bundle = toy_copy / "artifacts" / "toy"
    weights = bundle / "bert.safetensors"
    content = weights.read_bytes()
    weights.unlink()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BundleError, match="the file was changed or damaged"):
        write_package(bundle, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_archive_does_not_overwrite_a_file_of_the_bundle(toy: Path, tmp_path: Path) -> None:
    bundle = open_verified_bundle(toy)
    archive = tmp_path / f"toy-{__version__}.tar"
    archive.hardlink_to(toy / "bert.safetensors")
    with pytest.raises(InputError, match="is to be written, and is read as"):
        write_archive(bundle, tmp_path)


def test_package_without_a_wheel_platform_is_an_archive(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kokoro_tvm.publish.distribution._PLATFORMS", {})
    assert [path.suffix for path in write_package(toy, tmp_path / "dist")] == [".tar"]
