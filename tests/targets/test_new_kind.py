"""A kind of target that is new costs one module under targets/: C source, compiled by gcc, run by a counting
runner.

The toy Kokoro goes through every stage for it, on a copy of the package that has this one file more.
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
from kokoro_tvm.constants import COMPONENT_AXES
from kokoro_tvm.runtime import Synthesizer

pytestmark = pytest.mark.nightly  # a minute for a second of speech by plain C

MODULE = '''"""Whatever has a C compiler and no kernels by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from kokoro_tvm.runners import Runner
from kokoro_tvm.runtime.session import Session
from kokoro_tvm.spec import TargetSpec
from kokoro_tvm.targets.base import Machine, TargetKind
from kokoro_tvm.toolchains import Toolchain


class CTarget(TargetSpec):
    """A machine with a C compiler."""

    kind: Literal["c"] = Field(description="C source.")
    flags: tuple[str, ...] = Field(default=("-O1",), description="Options of gcc.")


class Gcc(Toolchain):
    command = "gcc"
    suffix = ".so"

    def __init__(self, flags: tuple[str, ...]) -> None:
        self.flags = flags

    def version(self) -> str:
        return subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]

    def check(self) -> str | None:
        return None

    def link(self, objects: Any, out: Path) -> None:
        import tvm
        import tvm_ffi.libinfo

        headers = [tvm_ffi.libinfo.find_include_path(), Path(tvm.__file__).parent / "include"]
        options = [*self.flags, "-shared", "-fPIC", *(f"-I{folder}" for folder in headers)]
        options.append("-Wl,--allow-multiple-definition")  # each source defines what TVM's library sets
        subprocess.run(["gcc", *options, "-o", str(out), *map(str, objects), "-lm"], check=True)


class Counting(Session):
    """A session that leaves a line for every call."""

    def run(self, component: str, length: int, *inputs: Any) -> Any:
        print(f"counted: {component} of {length}", flush=True)
        return super().run(component, length, *inputs)


class CountingRunner(Runner):
    def version(self) -> str:
        return "counting 1"

    def session(self, bundle: Any, threads: int) -> Any:
        return Counting(bundle, threads)


class C(TargetKind):
    spec = CTarget
    object_suffix = ".c"

    def describe(self, spec: CTarget) -> str:
        return "C by gcc"

    def resolve(self, spec: CTarget, precision: str) -> Machine:
        from kokoro_tvm.features import NO_KERNELS

        return Machine("c", {}, NO_KERNELS)

    def tvm(self, machine: Machine) -> Any:
        import tvm

        return tvm.target.Target({"kind": "c"})

    def toolchain(self, spec: CTarget) -> Toolchain:
        return Gcc(spec.flags)

    def runner(self, spec: CTarget) -> Runner:
        return CountingRunner()


KIND = C()
'''


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a copy of the package that has one file more, and a recipe for it, built."""
    root = tmp_path_factory.mktemp("c")
    package = root / "kokoro_tvm"
    shutil.copytree(Path(kokoro_tvm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "targets" / "c.py").write_text(MODULE, encoding="utf-8")
    (root / "recipes").mkdir()
    shutil.copy(REPOSITORY / "dodo.py", root)
    recipe = {
        "model": "toy-model",
        "target": {"kind": "c"},
        "length": "exact",
        "buckets": {"tokens": [64], "frames": [130]},
        # Sums in order in float32, and none of the kernels that are nearer to float64 than PyTorch is.
        "gates": {
            part: {"min_snr_db": 60, "min_frame_snr_median_db": None, "min_frame_snr_p5_db": None}
            for part in ("bert", "duration", "text_encoder", "f0n")
        }
        | {"decoder": dict.fromkeys(toy_model()["gates"]["decoder"]) | {"min_snr_db": 20}}
        | {"speech": dict.fromkeys(toy_model()["gates"]["speech"]) | {"min_snr_db": 15}},
    }
    for name, content in {"toy-model": toy_model(), "plain": recipe}.items():
        text = yaml.safe_dump(content, allow_unicode=True)
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(root)}
    built = subprocess.run(
        [sys.executable, "-m", "doit", "plain", "plain.report"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return root


def test_every_stage_ran_for_it(root: Path) -> None:
    stages = {path.name for path in (root / "artifacts/.store/stages").iterdir()}
    kinds = {name.split(".")[1] for name in stages}
    expected = "machine export lower compile pack speak validate bundle speech report"
    assert kinds >= set(expected.split())
    machine = json.loads((root / "artifacts/.build/plain/machine/machine.json").read_text(encoding="utf-8"))
    assert machine["kind"] == "c"


def test_its_own_runner_ran_the_code(root: Path) -> None:
    work = root / "artifacts/.build/plain"
    for component in COMPONENT_AXES:
        (log,) = work.glob(f"{component}-*/validate.log")
        assert f"counted: {component} of" in log.read_text(encoding="utf-8")
    assert "counted: decoder of" in (work / "speech/speech.log").read_text(encoding="utf-8")


def test_it_speaks_like_the_toy_by_kernels(root: Path, toy: Path) -> None:
    """The bundle needs nothing of the new kind: any runtime loads it."""
    with pytest.warns(match="random"):
        plain = Synthesizer(root / "artifacts/plain").from_phonemes(PHONEMES, voice="af_heart")
    with pytest.warns(match="random"):
        kernels = Synthesizer(toy).from_phonemes(PHONEMES, voice="af_heart")
    assert np.array_equal(plain.durations, kernels.durations)
    error = plain.audio.astype(np.float64) - kernels.audio
    assert 10 * np.log10(np.sum(np.square(kernels.audio, dtype=np.float64)) / np.sum(np.square(error))) > 15
