"""Planted mistakes in the native build of the real weights: the gates of the recipe `cpu` catch each of them.

The recipe is built in this checkout. For each mistake, its component is built again from a copy of the
package; a decoder is put into a bundle that speaks the recipe's utterances.
"""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest
from toys import REPOSITORY, doit

from mutations.copies import Copy, run_batches
from mutations.mistakes import MISTAKES, NATIVE_MISTAKES, Mistake, apply, require_caught

ARTIFACTS = {"bert": "bert-512", "decoder": "decoder-5120"}


def stages_of(mistake: Mistake) -> tuple[str, ...]:
    """Return the stages that build its component and judge it."""
    assert mistake.component is not None
    artifact = ARTIFACTS[mistake.component]
    built = (
        *(f"cpu.{kind}.{artifact}" for kind in ("export", "lower", "compile")),
        f"cpu.pack.{mistake.component}",
    )
    if mistake.judged == "throughput":
        return (*built, "cpu.throughput")
    spoken = ("cpu.bundle", "cpu.speech") if mistake.component == "decoder" else ()
    return (*built, f"cpu.validate.{artifact}", *spoken)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The outcome of every mistake."""
    process = doit(REPOSITORY, "cpu")
    assert process.returncode == 0, process.stdout + process.stderr
    root = tmp_path_factory.mktemp("native")
    copies: dict[str, Copy] = {}
    for i, mistake in enumerate(NATIVE_MISTAKES):
        copy = Copy.of(root / str(i), lambda to: shutil.copytree(REPOSITORY / "recipes", to))
        apply(mistake.edits, copy.root / "package/kokoro_tvm")
        copies[mistake.name] = copy
    jobs = [copies[m.name].job("cpu", stages_of(m), REPOSITORY) for m in NATIVE_MISTAKES]
    run_batches([jobs], root)
    return {name: copy.outcome() for name, copy in copies.items()}


@pytest.mark.nightly
@pytest.mark.weights
@pytest.mark.skipif(platform.machine() != "x86_64", reason="builds for x86-64 and runs it")
@pytest.mark.parametrize("mistake", NATIVE_MISTAKES, ids=lambda mistake: mistake.name)
def test_gate_catches_native_mistake(mistake: Mistake, outcomes: dict[str, dict[str, str]]) -> None:
    require_caught(mistake, outcomes[mistake.name])


def test_edits_fit_the_sources(tmp_path: Path) -> None:
    for i, mistake in enumerate((*MISTAKES, *NATIVE_MISTAKES)):
        package = tmp_path / str(i)
        for edit in mistake.edits:
            (package / edit.file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / "kokoro_tvm" / edit.file, package / edit.file)
        apply(mistake.edits, package)
