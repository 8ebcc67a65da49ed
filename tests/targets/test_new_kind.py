"""A new kind of target needs one module: loops without vectors, linked by gcc, run by a counting runner.

The toy Kokoro goes through every stage for it on a copy of the package with this module.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from toys import PHONEMES, REPOSITORY, toy_model

import kokoro_tvm
from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.runtime import Synthesizer

pytestmark = pytest.mark.nightly  # kernels without vectors take their time

MODULE = '''"""Whatever LLVM knows, without vectors."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from kokoro_tvm.targets.runners import Runner
from kokoro_tvm.runtime.session.session import Session
from kokoro_tvm.common.spec import TargetSpec
from kokoro_tvm.targets.base import Machine, TargetKind
from kokoro_tvm.targets.tools import Tools
from kokoro_tvm.native.toolchains import Toolchain


class PlainTarget(TargetSpec):
    """A machine without vectors."""

    kind: Literal["plain"] = Field(description="Loops.")
    flags: tuple[str, ...] = Field(default=("-O1",), description="Options of gcc.")


class Gcc(Toolchain):
    command = "gcc"
    suffix = ".so"

    def __init__(self, flags: tuple[str, ...]) -> None:
        self.flags = flags

    def version(self) -> str:
        return subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]

    def probe(self, folder: Path) -> None:
        pass

    def link(self, objects: Any, out: Path) -> None:
        subprocess.run(["gcc", *self.flags, "-shared", "-o", str(out), *map(str, objects), "-lm"], check=True)


class Counting(Session):
    """A session that leaves a line for every call."""

    def run(self, component: str, length: int, *inputs: Any) -> Any:
        print(f"counted: {component} of {length}", flush=True)
        return super().run(component, length, *inputs)


class CountingRunner(Runner):
    def version(self) -> str:
        return "counting 1"

    def session(self, bundle: Any, threads: int, libraries: Any = ()) -> Any:
        return Counting(bundle, threads)


class Plain(TargetKind):
    spec = PlainTarget

    def describe(self, spec: PlainTarget) -> str:
        return "loops"

    def resolve(self, spec: PlainTarget, precision: str) -> Machine:
        from kokoro_tvm.common.features import Features

        return Machine("plain", {}, Features(lanes=1, registers=16))

    def tvm(self, machine: Machine) -> Any:
        import tvm

        return tvm.target.Target({"kind": "llvm"})

    def tools(self, spec: PlainTarget) -> Tools:
        return PlainTools(spec)


class PlainTools(Tools):
    def toolchain(self) -> Toolchain:
        return Gcc(self.spec.flags)

    def runner(self) -> Runner:
        return CountingRunner()


KIND = Plain()
'''


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with the extended package and a built recipe."""
    root = tmp_path_factory.mktemp("plain")
    package = root / "kokoro_tvm"
    shutil.copytree(Path(kokoro_tvm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "targets" / "plain.py").write_text(MODULE, encoding="utf-8")
    (root / "recipes").mkdir()
    shutil.copy(REPOSITORY / "dodo.py", root)
    recipe = {
        "model": "toy-model",
        "target": {"kind": "plain"},
        "length": "exact",
        "buckets": {"tokens": [64], "frames": [130]},
    }
    for name, content in {"toy-model": toy_model(), "plain": recipe}.items():
        text = yaml.safe_dump(content, allow_unicode=True)
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(root)}
    process = subprocess.run(
        [sys.executable, "-m", "doit", "plain", "plain.report"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return root


def test_new_kind_runs_every_stage(root: Path) -> None:
    stages = {path.name for path in (root / "artifacts/.store/stages").iterdir()}
    kinds = {name.split(".")[1] for name in stages}
    expected = "machine export lower compile pack speak validate bundle speech report"
    assert kinds >= set(expected.split())
    machine = json.loads((root / "artifacts/.build/plain/machine/machine.json").read_text(encoding="utf-8"))
    assert machine["kind"] == "plain"


def test_new_kind_uses_its_own_runner(root: Path) -> None:
    work = root / "artifacts/.build/plain"
    for component in COMPONENT_AXES:
        (log,) = work.glob(f"{component}-*/validate.log")
        assert f"counted: {component} of" in log.read_text(encoding="utf-8")
    assert "counted: decoder_seeded of" in (work / "speech/speech.log").read_text(encoding="utf-8")


def test_new_kind_speaks_like_the_toy(root: Path, toy: Path) -> None:
    """Any runtime loads the bundle."""
    with pytest.warns(match="random"):
        plain = Synthesizer(root / "artifacts/plain").from_phonemes(PHONEMES, voice="af_heart")
    with pytest.warns(match="random"):
        kernels = Synthesizer(toy).from_phonemes(PHONEMES, voice="af_heart")
    assert np.array_equal(plain.durations, kernels.durations)
    error = plain.audio.astype(np.float64) - kernels.audio
    assert 10 * np.log10(np.sum(np.square(kernels.audio, dtype=np.float64)) / np.sum(np.square(error))) > 15
