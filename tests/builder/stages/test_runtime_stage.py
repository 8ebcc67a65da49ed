"""The stage `runtime`: pinned libraries of other platforms."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.stages import runtime
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.sources import wheel
from kokoro_tvm.targets import PinnedLibrary, tools_for
from kokoro_tvm.targets.cpu import LlvmTarget

ROOT = Path(__file__).parents[3]
CONTENT = b"a library"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A library in a wheel of a fake index."""
    path = tmp_path / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("some/lib/libsome.so", CONTENT)
    asked: list[list[str]] = []

    def download(command: list[str], **how: Any) -> Any:
        asked.append(command)
        (Path(command[command.index("--dest") + 1]) / path.name).write_bytes(path.read_bytes())
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setattr(wheel.subprocess, "run", download)
    return {
        "package": "some",
        "version": "1.0",
        "platforms": ["linux_of_somebody"],
        "python": "3.11",
        "member": "some/lib/libsome.so",
        "wheel": hashlib.sha256(path.read_bytes()).hexdigest(),
        "sha256": SHA256,
    }


def test_runtime_extracts_a_pinned_library(pinned: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    runtime.run(out, Inputs({}), pinned=[pinned])
    assert sorted(path.name for path in out.iterdir()) == ["libsome.so", "runtime.json"]
    assert (out / "libsome.so").read_bytes() == CONTENT
    assert json.loads((out / "runtime.json").read_text(encoding="utf-8")) == {"libsome.so": SHA256}


@pytest.mark.parametrize(("field", "what"), [("wheel", "the wheel of some==1.0"), ("sha256", "libsome.so")])
def test_runtime_refuses_another_file(pinned: dict[str, Any], field: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=f"{what}.* is not the pinned file: expected sha256 0000"):
        runtime.run(tmp_path, Inputs({}), pinned=[pinned | {field: "0" * 64}])


def test_pinned_wheels_are_of_the_pinned_tvm() -> None:
    """pyproject.toml has the same versions."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = dict(re.findall(r'"(apache-tvm(?:-ffi)?)==([^"]+)"', text))
    arm = LlvmTarget(kind="llvm", mcpu="cortex-a72", mtriple="aarch64-linux-gnu")
    result = tools_for(arm).runtime_libraries()
    assert list(result) == ["runtime", "ffi"]
    for library in result.values():
        assert isinstance(library, PinnedLibrary)
        assert library.version == versions.pop(library.package)
    assert versions == {}
