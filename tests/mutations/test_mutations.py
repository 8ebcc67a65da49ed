"""Planted mistakes in a toy-sized Kokoro: the gates of the build catch each of them.

Each mistake is planted in a copy of the package. The stages of its component are built from that copy,
starting from the artifacts of a correct build. Only the selected mistakes are built (`-k`).
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest
import yaml
from toys import REPOSITORY, TARGET, toy_model

from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.recipe import load_recipe
from mutations.copies import Copy, run_batches
from mutations.mistakes import MISTAKES, Edit, Mistake, OutdatedError, apply, require_caught

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="builds for x86-64 and runs it")

# The plainest x86 CPU: the least code to generate.
PLAIN = {"kind": "llvm", "mcpu": "x86-64", "mtriple": "x86_64-linux-gnu"}
RECIPE: dict[str, Any] = {
    "target": PLAIN,
    "length": "masked",
    "buckets": {"tokens": [32], "frames": [128]},
}
# With random weights the decoder turns rounding errors into other phases on many utterances, which hides
# mistakes. It does not on "hello" with the code of PLAIN, so there the shipped gate applies. The other
# components have two utterances. The longer one comes first, so that the padding of the second one holds its
# remains; in the second, one long sound, channels hardly vary about means that are not zero.
UTTERANCES: dict[str, list[dict[str, Any]]] = {
    "toy": [{"name": "hello", "phonemes": "həlˈO wˈɜɹld.", "voice": "am_adam"}],
    "drawn": [
        {"name": "longer", "phonemes": "həlˈO wˈɜɹld, həlˈO.", "voice": "am_adam"},
        {"name": "drawn-out", "phonemes": "ə", "voice": "am_adam", "speed": 0.2},
    ],
}
MODEL = yaml.safe_load((REPOSITORY / "recipes/kokoro-82m.yaml").read_text(encoding="utf-8"))
SHIPPED = MODEL["gate_sets"]["strict-float32"]
STAGES = ("export", "lower", "compile", "pack", "validate")


def write_recipes(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, utterances in UTTERANCES.items():
        model = toy_model() | {"utterances": utterances}
        exact = "min_exact_frame_snr_median_db"
        model["gates"]["decoder"][exact] = SHIPPED["decoder"][exact]
        recipe = TARGET | RECIPE | {"model": f"{name}-model"}
        for file, content in {f"{name}-model": model, name: recipe}.items():
            (folder / f"{file}.yaml").write_text(
                yaml.safe_dump(content, allow_unicode=True), encoding="utf-8"
            )


def recipe_of(mistake: Mistake) -> str:
    return "toy" if mistake.component in ("decoder", None) else "drawn"


def stages_of(component: str) -> list[str]:
    """Return the stages of a component's artifact."""
    (bucket,) = RECIPE["buckets"]["frames" if component in ("f0n", "decoder") else "tokens"]
    recipe, artifact = "toy" if component == "decoder" else "drawn", f"{component}-{bucket}"
    return [f"{recipe}.{s}.{component if s == 'pack' else artifact}" for s in STAGES]


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, str]]:
    """The outcome of every selected mistake, and of each recipe without one."""
    tests = [item.callspec.params for item in request.session.items if isinstance(item, pytest.Function)
             and hasattr(item, "callspec")]  # fmt: skip
    mistakes = [mistake for mistake in MISTAKES if any(test.get("mistake") is mistake for test in tests)]
    complete = {test["recipe"] for test in tests if test.get("recipe") in UTTERANCES}
    complete |= {"toy" for mistake in mistakes if mistake.component is None}
    recipes = complete | {recipe_of(mistake) for mistake in mistakes}
    root = tmp_path_factory.mktemp("mutations")
    start = {r: Copy.of(root / f"start-{r}", write_recipes) for r in sorted(recipes)}
    correct = {r: Copy.of(root / f"correct-{r}", write_recipes) for r in sorted(complete)}
    copies = {mistake: Copy.of(root / f"{i:02d}", write_recipes) for i, mistake in enumerate(mistakes)}
    for mistake, copy in copies.items():
        apply(mistake.edits, copy.root / "package/kokoro_tvm")
    graph = RecipeGraph(
        load_recipe("toy", next(iter(start.values())).root / "recipes"), root / "nowhere", root
    )
    names = [stage.name for stage in graph.stages()]
    shared = [name for name in names if name.split(".")[1] in ("checkpoint", "machine", "reference")]
    rest = {
        "toy": [name for name in names if name not in shared],
        "drawn": [*stages_of("f0n"), *stages_of("text_encoder")],
    }
    # The decoder first: each of its jobs takes as long as all others together.
    jobs = [
        copy.job(recipe_of(mistake), stages_of(mistake.component), start[recipe_of(mistake)].root)
        for mistake, copy in sorted(copies.items(), key=lambda pair: pair[0].component != "decoder")
        if mistake.component is not None
    ]
    run_batches(
        [
            [copy.job(r, [name.replace("toy", r, 1) for name in shared]) for r, copy in start.items()],
            [*(copy.job(r, rest[r], start[r].root) for r, copy in correct.items()), *jobs],
            [
                copy.job("toy", ["toy.speech"], correct["toy"].root)
                for mistake, copy in copies.items()
                if mistake.component is None
            ],
        ],
        root,
    )
    assert [copy.outcome() for copy in start.values()] == [{}] * len(start)
    outcomes = {recipe: copy.outcome() for recipe, copy in correct.items()}
    return outcomes | {mistake.name: copy.outcome() for mistake, copy in copies.items()}


@pytest.mark.nightly
@pytest.mark.parametrize("recipe", UTTERANCES)
def test_gates_are_met_without_a_mistake(recipe: str, outcomes: dict[str, dict[str, str]]) -> None:
    assert outcomes[recipe] == {}


@pytest.mark.nightly
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_gate_catches_mistake(mistake: Mistake, outcomes: dict[str, dict[str, str]]) -> None:
    require_caught(mistake, outcomes[mistake.name])


def test_apply_reports_an_edit_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("twice twice\n", encoding="utf-8")
    for old in ("never", "twice"):
        with pytest.raises(OutdatedError, match=r"a\.py has .* times where once is due"):
            apply((Edit("a.py", old, ""),), tmp_path)
    with pytest.raises(OutdatedError, match=r"gone\.py"):
        apply((Edit("gone.py", "x", ""),), tmp_path)
