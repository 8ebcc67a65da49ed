"""Inspection of libraries and bundles; nothing is executed."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_bundle import compile_library, edit_manifest, refresh

import kokoro_tvm
from kokoro_tvm.cli import main
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime import SpeechWarning, Synthesizer, read_bundle
from kokoro_tvm.runtime.bundle.executable import read_manifest
from kokoro_tvm.runtime.bundle.inspection import inspect_library
from kokoro_tvm.runtime.bundle.manifest import SCHEMA
from kokoro_tvm.runtime.bundle.provenance import (
    BUILD_TYPE,
    BUILDER,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    verify_provenance,
)


def provide(folder: Path) -> None:
    """Write the provenance of a folder."""
    files = [*folder.glob("*.so"), *folder.glob("*.safetensors"), folder / "bundle.json"]
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    metadata = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in digests.items()],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "recipe": {"name": "toy", "schedule": {}, "passes": ["fuse", "legalize"]}
                },
                "internalParameters": {"llvm": "22"},
                "resolvedDependencies": [{"name": "torch", "uri": "pkg:pypi/torch@2"}],
            },
            "runDetails": {"builder": {"id": BUILDER}},
        },
    }
    (folder / "provenance.json").write_text(json.dumps(metadata))


@pytest.fixture
def bundle(compiled: Callable[[str], Path], tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    shutil.copytree(compiled("exact"), folder)
    provide(folder)
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["inspect", *words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_inspect_library_returns_the_manifest(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bundle.parent / "anything.so"
    shutil.move(bundle / "f0n-128.so", path)  # neither its name nor its bundle matters
    metadata = inspect_library(path)
    assert metadata == {
        "component": "f0n", "bucket": 128, "length": "exact", "precision": "float32", "project": "test",
    }  # fmt: skip
    status, out, _ = run(capsys, str(path))
    assert status == 0
    assert [line.split() for line in out.splitlines()][:2] == [["component", "f0n"], ["bucket", "128"]]
    assert json.loads(run(capsys, str(path), "--json")[1]) == metadata


def test_inspect_bundle_reports_gates_not_run(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "gates" in run(capsys, str(bundle))[1]
    reason = "the recipe's target says `run: false`"
    edit_manifest(bundle, lambda manifest: manifest.update(not_run=reason))
    provide(bundle)
    status, out, _ = run(capsys, str(bundle))
    assert (status, re.findall(r"^gates +(.*)$", out, re.MULTILINE)) == (0, [f"not run: {reason}"])
    with pytest.warns(SpeechWarning, match=re.escape(f"its gates were not run ({reason})")):
        Synthesizer(bundle)


ALONE = """
import sys
sys.modules["torch"] = sys.modules["tvm"] = sys.modules["tvm_ffi"] = None
from pathlib import Path
from kokoro_tvm.runtime.bundle.inspection import inspect_library
print(inspect_library(Path(sys.argv[1]))["component"])
assert not {"pydantic", "doit", "kokoro_tvm.builder.engine"} & set(sys.modules)
"""


def test_inspect_library_imports_neither_tvm_nor_torch(bundle: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(bundle / "bert-64.so")], capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("bert\n", 0), done.stderr


CONSTRUCTOR = """
#include <cstdio>
extern const unsigned char copy[];
const unsigned char copy[] = {%s};
struct Trap { Trap() { std::fclose(std::fopen("%s", "w")); } } trap;
"""


def trapped(library: Path, trace: Path) -> None:
    """Replace a library by one with the same manifest that creates a file when it is loaded."""
    content = ",".join(map(str, library.read_bytes()))
    source = CONSTRUCTOR % (content, trace)
    library.unlink()
    link = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library]
    subprocess.run(link, input=source.encode(), check=True)


def test_inspect_library_executes_nothing(bundle: Path, tmp_path: Path, capsys: Any) -> None:
    library, trace = bundle / "bert-16.so", tmp_path / "executed"
    trapped(library, trace)
    refresh(bundle)
    provide(bundle)
    assert inspect_library(library)["component"] == "bert"
    assert run(capsys, str(library))[0] == run(capsys, str(bundle))[0] == 0
    assert not trace.exists()
    ctypes.CDLL(str(library))
    assert trace.exists()  # or this test would show nothing


def test_session_refuses_a_library_with_another_manifest(bundle: Path, tmp_path: Path) -> None:
    """The manifest is compared before the code runs."""
    library, trace = bundle / "bert-16.so", tmp_path / "executed"
    shutil.copy(bundle / "duration-16.so", library)
    trapped(library, trace)
    refresh(bundle)
    with pytest.raises(BundleError, match=r"component 'duration', but bundle\.json says 'bert'"):
        Synthesizer(bundle)
    assert not trace.exists()


@pytest.fixture(scope="module")
def library(compiled: Callable[[str], Path]) -> bytes:
    return (compiled("exact") / "f0n-32.so").read_bytes()


@given(data=st.data())
def test_read_manifest_survives_damaged_libraries(library: bytes, data: st.DataObject) -> None:
    """The only error is ValueError."""
    start = library.index(b"relax.VMExecutable") - 8
    damaged = bytearray(library[data.draw(st.integers(0, start)) :])
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(damaged)))
    try:
        metadata = read_manifest(bytes(damaged[:end]))
    except ValueError:
        return
    assert isinstance(metadata, dict)


@pytest.mark.parametrize("count", [0, 2])
def test_read_manifest_expects_one_executable(library: bytes, count: int) -> None:
    with pytest.raises(ValueError, match=f"it holds {count} executables"):
        read_manifest(library * count)


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF" + bytes(100)])
def test_inspect_library_refuses_other_files(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)
    status, _, err = run(capsys, str(path))
    assert status == 5
    assert f"{path} is not a library that kokoro-tvm compiled (it holds 0 executables" in err
    assert "Traceback" not in err
    assert run(capsys, str(tmp_path / "gone.so"))[0] == 5


def test_inspect_library_refuses_a_foreign_library(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    subprocess.run(["g++", "-shared", "-x", "c++", "-", "-o", str(path)], input=b"int x;", check=True)
    with pytest.raises(BundleError, match="is not a library that kokoro-tvm compiled"):
        inspect_library(path)


def test_inspect_bundle_returns_all_metadata(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, str(bundle), "--json")
    assert (status, err) == (0, "")
    metadata: dict[str, Any] = json.loads(out)
    assert metadata["sha256"] == read_bundle(bundle).sha256
    assert (metadata["schema"], metadata["version"]) == (SCHEMA, kokoro_tvm.__version__)
    assert metadata["recipe"]["name"] == "toy"
    assert metadata["made of"] == {"torch": "pkg:pypi/torch@2"}
    assert set(metadata["libraries"]) == {path.name for path in bundle.glob("*.so")}
    assert set(metadata["files"]) == {p.name for p in bundle.iterdir()} - {"provenance.json"}
    lines = run(capsys, str(bundle))[1].splitlines()
    assert "  bert-16.so" in lines
    assert [line.split() for line in lines[:7]] == [
        ["sha256", metadata["sha256"]], ["schema", str(SCHEMA)], ["version", kokoro_tvm.__version__],
        ["recipe"], ["name", "toy"], ["schedule", "none"], ["passes", "fuse,", "legalize"],
    ]  # fmt: skip
    assert any(line.split() == ["component", "bert"] for line in lines)


def test_verify_provenance_covers_every_file(bundle: Path) -> None:
    assert verify_provenance(read_bundle(bundle)).builder == BUILDER
    metadata = json.loads((bundle / "provenance.json").read_text())
    for index, subject in enumerate(metadata["subject"]):
        for change in ({"digest": {"sha256": "0" * 64}}, {"name": "other"}):
            spoiled = json.loads(json.dumps(metadata))
            spoiled["subject"][index].update(change)
            (bundle / "provenance.json").write_text(json.dumps(spoiled))
            with pytest.raises(BundleError, match=subject["name"]):
                verify_provenance(read_bundle(bundle))


def test_inspect_bundle_detects_a_changed_manifest(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = bundle / "bundle.json"
    manifest.write_text(manifest.read_text() + "\n")
    status, _, err = run(capsys, str(bundle))
    assert status == 5
    assert "provenance.json is about other files than the bundle has: bundle.json" in err


def test_inspect_bundle_detects_a_damaged_file(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bundle / "decoder.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    status, _, err = run(capsys, str(bundle))
    assert status == 5
    assert "decoder.safetensors has sha256" in err


def test_inspect_bundle_detects_a_library_of_another_component(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compile_library(bundle / "bert-16.so", "bert", 17, "exact")
    refresh(bundle)
    provide(bundle)
    status, _, err = run(capsys, str(bundle))
    assert status == 5
    assert "bert-16.so was compiled with bucket 17, but bundle.json says 16" in err


def test_inspect_bundle_needs_the_provenance(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bundle / "provenance.json").unlink()
    assert run(capsys, str(bundle))[0] == 5
