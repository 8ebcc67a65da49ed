"""What every test shares: the markers, and the toy, which is built once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from toys import RECIPES, REPOSITORY, TARGET, doit, toy_model


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "weights: needs the real weights; fetches them into artifacts/checkpoint when they are not there",
    )
    config.addinivalue_line("markers", "nightly: takes minutes; only run when asked for, `-m nightly`")


@pytest.fixture(scope="session")
def toy_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toy")
    (root / "recipes").mkdir()
    shutil.copy(REPOSITORY / "dodo.py", root)
    recipes = {"toy-model": toy_model()} | {name: TARGET | recipe for name, recipe in RECIPES.items()}
    for name, recipe in recipes.items():
        text = yaml.safe_dump(recipe, allow_unicode=True)
        (root / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def toy(toy_root: Path) -> Path:
    """The bundle of the recipe `toy`."""
    built = doit(toy_root, "-n", "2", "toy")
    assert built.returncode == 0, built.stdout + built.stderr
    assert "31 stages built, 0 were current." in built.stdout
    return toy_root / "artifacts" / "toy"


@pytest.fixture(scope="session")
def others(toy: Path, toy_root: Path) -> Path:
    """The folder of all bundles."""
    built = doit(toy_root, "-n", "2", "nightly")  # every recipe, for none says otherwise
    assert built.returncode == 0, built.stdout + built.stderr
    assert "toy-model.checkpoint" not in built.stdout, "recipes of a model share its checkpoint"
    return toy.parent
