"""A library asked alone, and a bundle compared with what it says of itself."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy_bundle import compile_library, refresh

from kokoro_tvm.cli import main
from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.inspection import inspect_library
from kokoro_tvm.runtime.provenance import (
    BUILD_TYPE,
    BUILDER,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    verify_provenance,
)


def provide(folder: Path) -> None:
    """Writes the provenance of what is in a folder."""
    files = [*folder.glob("*.so"), *folder.glob("*.safetensors"), folder / "bundle.json"]
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    told = {
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
    (folder / "provenance.json").write_text(json.dumps(told))


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


def test_a_library_says_what_it_is(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bundle.parent / "anything.so"
    shutil.move(bundle / "f0n-128.so", path)  # neither its name nor its bundle matters
    told = inspect_library(path)
    assert told == {
        "component": "f0n", "bucket": 128, "length": "exact", "precision": "float32", "project": "test",
    }  # fmt: skip
    status, out, _ = run(capsys, str(path))
    assert status == 0
    assert [line.split() for line in out.splitlines()][:2] == [["component", "f0n"], ["bucket", "128"]]
    assert json.loads(run(capsys, str(path), "--json")[1]) == told


ALONE = """
import sys
sys.modules["torch"] = sys.modules["tvm"] = None
from pathlib import Path
from kokoro_tvm.runtime.inspection import inspect_library
print(inspect_library(Path(sys.argv[1]))["component"])
assert not {"pydantic", "doit", "kokoro_tvm.build"} & set(sys.modules)
"""


def test_it_needs_neither_torch_nor_the_compiler(bundle: Path) -> None:
    found = importlib.util.find_spec("tvm")
    assert found is not None and found.submodule_search_locations
    library_path = str(Path(found.submodule_search_locations[0]) / "lib")
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(bundle / "bert-64.so")],
        env=os.environ | {"TVM_LIBRARY_PATH": library_path}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("bert\n", 0), done.stderr


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF" + bytes(100)])
def test_what_is_no_library_is_refused(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)
    status, _, err = run(capsys, str(path))
    assert status == 5
    assert f"{path} cannot be loaded as a compiled component" in err
    assert "Traceback" not in err
    assert run(capsys, str(tmp_path / "gone.so"))[0] == 5


def test_a_foreign_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    subprocess.run(["g++", "-shared", "-x", "c++", "-", "-o", str(path)], input=b"int x;", check=True)
    with pytest.raises(BundleError, match="cannot be loaded as a compiled component"):
        inspect_library(path)


def test_a_bundle_tells_all(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, str(bundle), "--json")
    assert (status, err) == (0, "")
    told: dict[str, Any] = json.loads(out)
    assert told["recipe"]["name"] == "toy"
    assert told["made of"] == {"torch": "pkg:pypi/torch@2"}
    assert set(told["libraries"]) == {path.name for path in bundle.glob("*.so")}
    assert set(told["files"]) == {p.name for p in bundle.iterdir()} - {"provenance.json"}
    lines = run(capsys, str(bundle))[1].splitlines()
    assert "  bert-16.so" in lines
    assert [line.split() for line in lines[:4]] == [
        ["recipe"], ["name", "toy"], ["schedule", "none"], ["passes", "fuse,", "legalize"],
    ]  # fmt: skip
    assert any(line.split() == ["component", "bert"] for line in lines)


def test_every_file_counts_for_the_provenance(bundle: Path) -> None:
    assert verify_provenance(read_bundle(bundle)).builder == BUILDER
    told = json.loads((bundle / "provenance.json").read_text())
    for index, subject in enumerate(told["subject"]):
        for change in ({"digest": {"sha256": "0" * 64}}, {"name": "other"}):
            spoiled = json.loads(json.dumps(told))
            spoiled["subject"][index].update(change)
            (bundle / "provenance.json").write_text(json.dumps(spoiled))
            with pytest.raises(BundleError, match=subject["name"]):
                verify_provenance(read_bundle(bundle))


def test_a_manifest_changed_afterwards_is_found(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = bundle / "bundle.json"
    manifest.write_text(manifest.read_text() + "\n")
    status, _, err = run(capsys, str(bundle))
    assert status == 5
    assert "provenance.json is about other files than the bundle has: bundle.json" in err


def test_a_damaged_file_is_found(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bundle / "decoder.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    status, _, err = run(capsys, str(bundle))
    assert status == 5
    assert "decoder.safetensors has sha256" in err


def test_a_library_of_another_kind_is_found(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_library(bundle / "bert-16.so", "bert", 17, "exact")
    refresh(bundle)
    provide(bundle)
    status, _, err = run(capsys, str(bundle))
    assert status == 5
    assert "bert-16.so says bucket 17, but bundle.json 16" in err


def test_no_provenance_no_answer(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bundle / "provenance.json").unlink()
    assert run(capsys, str(bundle))[0] == 5
