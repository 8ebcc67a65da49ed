"""The rooms of the package: who may import whom, and that the page about them names them all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kokoro_tvm

PACKAGE = Path(kokoro_tvm.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
# Modules that every room may use, and then the rooms; each imports from those before it.
FOUNDATION = """
    errors bundles constants cpu_features digests features javascript loading locking noise output
    packages platforms remote spec words
"""
ROOMS = [
    *(
        "runtime",
        "registry",
        "documents",
        "ops",
        "toolchains",
        "libkokoro",
        "libtvm",
        "runners",
        "targets",
        "recipe",
        "patches",
        "passes",
        "model",
    ),
    *("engine", "compiler", "truth", "measure", "report", "stages", "project", "diagnostics"),
    *("batch", "serve", "lab", "bench", "cli"),
]
# What speaks, inside: arrays know nothing of text.
SPEAKING = ["bundle", "session", "text", "speech"]
RANK = {name: rank for rank, name in enumerate([*FOUNDATION.split(), *ROOMS])}


@pytest.fixture(scope="module")
def imports() -> list[tuple[str, str, str]]:
    """(file, its room, module it imports) for every import of the package from itself, wherever it stands."""
    return sorted(set(found()))


def found() -> Iterator[tuple[str, str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE)
        room = file.parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kokoro_tvm":
                bare = node.module == "kokoro_tvm"
                names = [f"kokoro_tvm.{a.name}" for a in node.names] if bare else [str(node.module)]
            elif isinstance(node, ast.Import):
                names = [a.name for a in node.names if a.name.startswith("kokoro_tvm.")]
            else:
                continue
            yield from ((str(file), room, name) for name in names if name != "kokoro_tvm.__version__")


def test_every_room_has_its_place() -> None:
    there = {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    there |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert there == set(RANK)


def test_imports_point_down(imports: list[tuple[str, str, str]]) -> None:
    upwards = []
    for file, room, module in imports:
        other = module.split(".")[1]
        if room != "__init__" and other != room and RANK[other] >= RANK[room]:
            upwards.append(f"{file} -> {module}")
    assert upwards == []


def test_imports_point_down_in_what_speaks(imports: list[tuple[str, str, str]]) -> None:
    upwards = []
    for file, _, module in imports:
        here, there = file.split("/"), module.split(".")
        inside = here[0] == "runtime" and len(here) > 2 and there[1] == "runtime" and there[2] in SPEAKING
        if inside and SPEAKING.index(there[2]) > SPEAKING.index(here[1]):
            upwards.append(f"{file} -> {module}")
    assert upwards == []


def test_modules_that_other_rooms_import_have_no_underscore(imports: list[tuple[str, str, str]]) -> None:
    private = [f"{file} -> {m}" for file, room, m in imports if "._" in m and m.split(".")[1] != room]
    assert private == []


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_names_the_room(room: str) -> None:
    assert re.search(rf"^\| `{room}/` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_one_module_for_each_kind_toolchain_and_runner() -> None:
    """Nothing else knows a kind of target by its name, or what a linker's files are called."""
    words = re.compile(r"""kind[^\n]{0,16}["']llvm["']|["']\.(?:so|dll|dylib)["']""")
    knowing = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if words.search(path.read_text(encoding="utf-8"))
    }
    assert knowing == {
        "targets/llvm.py",
        *(f"toolchains/{name}.py" for name in ("coff", "gnu", "lld", "macho")),
    }
