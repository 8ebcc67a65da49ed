"""The key of the stage `libkokoro`: C sources, flags, target."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import kokoro_tvm
from kokoro_tvm.builder.engine import code
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import changes
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.used import rehash_used
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.common.platforms import Platform
from kokoro_tvm.native import libkokoro
from kokoro_tvm.native.toolchains import cc
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.targets import cpu

ROOT = Path(__file__).parents[3]
PACKAGE = Path(kokoro_tvm.__file__).parent


def stage_in(root: Path, store: Store | None = None) -> Stage:
    """The stage of the recipe `cpu` with libkokoro."""
    (root / "recipes").mkdir(parents=True, exist_ok=True)
    for name, more in (("cpu", "runtime: {c: true}\n"), ("kokoro-82m", "")):
        text = (ROOT / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
        (root / "recipes" / f"{name}.yaml").write_text(text + more, encoding="utf-8")
    graph = RecipeGraph(load_recipe("cpu", root / "recipes"), root / "artifacts", root, store)
    assert graph.libkokoro is not None
    return graph.libkokoro


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A stage that has run."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc (Debian: apt-get install gcc)")
    result = stage_in(tmp_path_factory.mktemp("libkokoro"))
    assert result.run() == "built"
    return result


NAMES = [path.relative_to(libkokoro.FOLDER).as_posix() for path in libkokoro.sources()]


@pytest.mark.parametrize("name", NAMES)
def test_source_edit_makes_libkokoro_stale(
    stage: Stage, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stage.is_current()
    shutil.copytree(libkokoro.FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(libkokoro, "FOLDER", tmp_path)
    assert stage.is_current()
    with (tmp_path / name).open("a", encoding="utf-8") as stream:
        stream.write("/* another */\n")
    assert [change.name for change in stage.state().changes] == [f"sources.{name}"]


def test_expression_edit_makes_libkokoro_stale(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "kokoro_tvm"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "web"))
    monkeypatch.setattr(code, "_PACKAGE", copy)
    assert stage.is_current()
    file = copy / "runtime" / "text" / "frontend" / "paragraphs.py"
    file.write_text(file.read_text(encoding="utf-8").replace("_BOX = re.compile(", "_BOX = re.compile('a' "))
    changed = [f"{part}.kokoro_tvm.runtime.text.frontend.paragraphs" for part in ("code", "tables")]
    assert [change.name for change in stage.state().changes] == changed


@pytest.mark.parametrize(
    ("file", "old", "new", "part"),
    [
        (
            "native/toolchains/cc.py",
            '"-O2"',
            '"-O0", "-ffast-math"',
            "native.toolchains.cc:CCompiler.compile",
        ),
        ("native/libkokoro/__init__.py", "-fvisibility=hidden", "-g", "native.libkokoro:compile_libkokoro"),
    ],
)
def test_flag_edit_makes_libkokoro_stale(
    stage: Stage,
    file: str,
    old: str,
    new: str,
    part: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = tmp_path / "kokoro_tvm"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "web"))
    monkeypatch.setattr(code, "_PACKAGE", copy)
    built = stage.record().derivation
    assert changes(built, {**built, **rehash_used(built)}) == ()
    text = (copy / file).read_text(encoding="utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new), encoding="utf-8")
    result = changes(built, {**built, **rehash_used(built)})
    assert [change.name for change in result] == [f"code.kokoro_tvm.{part}"]


def test_key_depends_on_the_architecture_of_the_host(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recipe and version of gcc are the same."""
    here, other = stage.requests(), "aarch64" if os.uname().machine == "x86_64" else "x86_64"
    for module in (cpu, cc):
        monkeypatch.setattr(module, "detect_platform", lambda: Platform(other, "linux"))
    there = stage_in(stage.store.root.parents[1], stage.store)
    assert [c.name for c in changes(here[0], there.requests()[0])] == ["platform.architecture"]
    assert there.state().kind == "stale"
