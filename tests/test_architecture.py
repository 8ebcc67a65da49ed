"""Test the layout: the wings of docs/architecture.md, and that imports point down its table."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import kokoro_tvm

PACKAGE = Path(kokoro_tvm.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
# The wings from top to bottom, and the folders of `runtime/`, which have an order too.
ROWS = re.findall(r"^\| `([a-z]+(?:/[a-z]+)?)/` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
WINGS = [row for row in ROWS if "/" not in row]
RUNTIME = [row.removeprefix("runtime/") for row in ROWS if row.startswith("runtime/")]


@pytest.fixture(scope="module")
def imports() -> list[tuple[str, str]]:
    """(file, module it imports) for every import of the package from itself, in functions too."""
    return sorted(set(read_imports()))


def read_imports() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kokoro_tvm":
                bare = node.module == "kokoro_tvm"
                names = [f"kokoro_tvm.{a.name}" for a in node.names] if bare else [str(node.module)]
            elif isinstance(node, ast.Import):
                names = [a.name for a in node.names if a.name.startswith("kokoro_tvm.")]
            else:
                continue
            yield from ((file, name) for name in names if name != "kokoro_tvm.__version__")


def test_package_has_the_wings_of_the_page_and_no_loose_module() -> None:
    names = {path.name for path in PACKAGE.iterdir() if path.name not in ("__pycache__", "bundles")}
    assert names == {"__init__.py", "py.typed", *WINGS}
    assert len(names - {"py.typed"}) <= 16


def test_tests_mirror_the_wings() -> None:
    folders = {path.name for path in Path(__file__).parent.iterdir() if list(path.glob("**/test_*.py"))}
    assert folders - {"mutations", "upstream"} == set(WINGS)


def test_imports_point_down(imports: list[tuple[str, str]]) -> None:
    upwards = []
    for file, module in imports:
        importing, imported = file.split("/")[0], module.split(".")[1]
        if importing != "__init__.py" and WINGS.index(imported) < WINGS.index(importing):
            upwards.append(f"{file} -> {module}")
    assert upwards == []


def test_imports_point_down_in_runtime(imports: list[tuple[str, str]]) -> None:
    upwards = []
    for file, module in imports:
        importing, imported = file.split("/"), module.split(".")
        if importing[0] != "runtime" or importing[1] not in RUNTIME or imported[1] != "runtime":
            continue
        if (
            imported[2:]
            and imported[2] in RUNTIME
            and RUNTIME.index(imported[2]) < RUNTIME.index(importing[1])
        ):
            upwards.append(f"{file} -> {module}")
    assert upwards == []


def test_modules_that_other_wings_import_have_no_underscore(imports: list[tuple[str, str]]) -> None:
    private = [f"{file} -> {m}" for file, m in imports if "._" in m and m.split(".")[1] != file.split("/")[0]]
    assert private == []


def test_public_class_names_are_unique() -> None:
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(PACKAGE).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_only_targets_and_toolchains_know_kinds_and_suffixes_of_libraries() -> None:
    words = re.compile(r"""kind[^\n]{0,16}["']llvm["']|["']\.(?:so|dll|dylib)["']""")
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if words.search(path.read_text(encoding="utf-8"))
    }
    toolchains = (f"native/toolchains/{name}.py" for name in ("coff", "gnu", "lld", "macho"))
    assert files == {"targets/cpu.py", "targets/llvm.py", *toolchains}
