"""Digests of code: which edits change which digests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.builder.engine import code
from kokoro_tvm.builder.engine.code import hash_all_code, hash_executed_code
from kokoro_tvm.common.errors import BuildError

ROOT = Path(__file__).parents[3]
FILES = {
    "__init__.py": "",
    "ops/__init__.py": "from kokoro_tvm.ops.stft import stft\nfrom kokoro_tvm.ops.table import TABLE\n"
    "\n__all__ = ['TABLE', 'stft']\n",
    "ops/stft.py": """
from kokoro_tvm.ops.base import register
from kokoro_tvm.noise import ROUNDS, Draw

WINDOW = 3
UNUSED = 1


@register("stft")
def stft(x: int = WINDOW) -> int:
    return _half(x) if x else _never(x)


def _half(x):
    return x // 2 + ROUNDS


def _never(x):
    return [each for each in sorted(x)]


class Drawer(Draw):
    rounds = ROUNDS

    def draw(self):
        return super().draw()

    def unused(self):
        return 1
""",
    "ops/base.py": "NAMES = {}\n\n\ndef register(name):\n    return lambda f: NAMES.setdefault(name, f)\n",
    "ops/table.py": "def _made():\n    return [1]\n\n\nTABLE = _made()\n",
    "noise.py": "ROUNDS = 7\nOTHER = 2\n\n\nclass Draw:\n    def draw(self):\n        return ROUNDS\n",
    "caller.py": """
from typing import TYPE_CHECKING

from kokoro_tvm import noise

if TYPE_CHECKING:
    from kokoro_tvm.ops.table import TABLE as ROUNDS


def call(ROUNDS):
    from kokoro_tvm import ops

    return [ops.TABLE, noise.OTHER, ROUNDS]
""",
}
STFT = ["kokoro_tvm.ops.stft:stft", "kokoro_tvm.ops.stft:_half"]
DRAW = ["kokoro_tvm.ops.stft:Drawer.draw", "kokoro_tvm.noise:Draw.draw"]
CALL = ["kokoro_tvm.caller:call"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "kokoro_tvm"
    for name, text in FILES.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(code, "_PACKAGE", package)
    return package


def edited(
    package: Path, file: str, old: str, new: str, functions: list[str], imported: tuple[str, ...] = ()
) -> set[str]:
    """Return the names whose digests differ after an edit."""
    before = hash_executed_code(functions, imported)
    path = package / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    after = hash_executed_code(functions, imported)
    path.write_text(text, encoding="utf-8")
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@pytest.mark.parametrize(
    ("old", "new", "functions", "changed"),
    [
        ("x // 2", "x // 3", STFT, {"kokoro_tvm.ops.stft:_half"}),
        ("sorted(x)", "list(x)", STFT, set()),  # it did not run
        ("        return 1", "        return 2", DRAW, set()),
        # What the import of the module executes.
        ("WINDOW = 3", "WINDOW = 4", STFT, {"kokoro_tvm.ops.stft"}),
        ("x: int = WINDOW", "x: int = 7", STFT, {"kokoro_tvm.ops.stft"}),
        ('("stft")', '("istft")', STFT, {"kokoro_tvm.ops.stft"}),
        ('@register("stft")\n', "", STFT, {"kokoro_tvm.ops.stft"}),
        ("UNUSED = 1", "UNUSED = 1\nregister('more')(UNUSED)", STFT, {"kokoro_tvm.ops.stft"}),
        ("rounds = ROUNDS", "rounds = 2", DRAW, {"kokoro_tvm.ops.stft"}),
        ("def unused", "def other", DRAW, {"kokoro_tvm.ops.stft"}),
        ("UNUSED = 1", "def super():\n    pass", DRAW,
         {"kokoro_tvm.ops.stft", "kokoro_tvm.ops.stft:Drawer.draw"}),
        # Another import under a name that is used; one that nothing executed uses.
        ("import register\n", "import keep as register\n", STFT, {"kokoro_tvm.ops.stft"}),
        ("from kokoro_tvm.noise", "import json\nfrom kokoro_tvm.noise", STFT, {"kokoro_tvm.ops.stft"}),
        ("from kokoro_tvm.noise", "import kokoro_tvm.caller\nfrom kokoro_tvm.noise", STFT,
         {"kokoro_tvm.ops.stft", "kokoro_tvm.caller"}),
    ],
)  # fmt: skip
def test_executed_code_counts_functions_and_what_imports_execute(
    package: Path, old: str, new: str, functions: list[str], changed: set[str]
) -> None:
    assert edited(package, "ops/stft.py", old, new, functions) == changed


@pytest.mark.parametrize("functions", [STFT, DRAW])
def test_executed_code_counts_modules_that_are_referred_to(package: Path, functions: list[str]) -> None:
    for old, new in (("ROUNDS = 7", "ROUNDS = 6"), ("OTHER = 2", "OTHER = 3")):
        assert edited(package, "noise.py", old, new, functions) == {"kokoro_tvm.noise"}
    assert edited(package, "ops/table.py", "TABLE = _made()", "TABLE = [2]", functions) == set()


def test_executed_code_follows_imports_of_functions_and_of_packages(package: Path) -> None:
    assert edited(package, "noise.py", "OTHER = 2", "OTHER = 3", CALL) == {"kokoro_tvm.noise"}
    changed = edited(package, "ops/table.py", "TABLE = _made()", "TABLE = [2]", CALL)
    assert changed == {"kokoro_tvm.ops.table"}
    moved = ("ops/__init__.py", "ops.table import TABLE", "ops.stft import WINDOW as TABLE")
    assert {"kokoro_tvm.ops:TABLE", "kokoro_tvm.ops.table", "kokoro_tvm.ops.stft"} <= edited(
        package, *moved, CALL
    )


def test_executed_code_ignores_imports_for_type_checkers_and_of_annotations(package: Path) -> None:
    (package / "caller.py").write_text(
        "from typing import TYPE_CHECKING\n\nfrom kokoro_tvm.noise import Draw\n\nif TYPE_CHECKING:\n"
        "    from kokoro_tvm.ops.table import TABLE\n\n\ndef call(draw: Draw) -> TABLE:\n    return draw\n",
        encoding="utf-8",
    )
    assert {*hash_executed_code(CALL)} == {"kokoro_tvm.caller", *CALL}


def test_executed_code_counts_functions_that_imports_executed_with_their_module(package: Path) -> None:
    imported = ("kokoro_tvm.ops.table:_made", "kokoro_tvm.ops.base:register")
    change = ("ops/table.py", "[1]", "[2]")
    assert edited(package, *change, CALL, imported) == {"kokoro_tvm.ops.table:_made"}
    assert edited(package, *change, STFT, imported) == set()
    assert edited(package, "ops/base.py", "setdefault", "get", STFT, imported) == {
        "kokoro_tvm.ops.base:register"
    }
    code = hash_executed_code(CALL, imported)
    assert hash_executed_code(code) == code, "a past run's names give the same again"


def test_executed_code_marks_missing_functions(package: Path) -> None:
    assert edited(package, "ops/stft.py", "def _half", "def _third", STFT) >= {"kokoro_tvm.ops.stft:_half"}
    (package / "ops/table.py").unlink()
    assert hash_executed_code(["kokoro_tvm.ops.table"])["kokoro_tvm.ops.table"] == "gone"


@pytest.mark.parametrize(
    "new",
    [
        "    # a comment\n    return x // 2 + ROUNDS\n",
        '    """What it is."""\n\n    return   x  //  2 + (ROUNDS)  # about\n',
    ],
)
def test_executed_code_ignores_comments_docstrings_and_layout(package: Path, new: str) -> None:
    assert edited(package, "ops/stft.py", "    return x // 2 + ROUNDS\n", new, STFT) == set()


def test_executed_code_ignores_texts_of_errors(package: Path) -> None:
    def digest(condition: str, error: str) -> str:
        text = f"def check(x, name):\n    if {condition}:\n        raise {error}\n"
        (package / "helper.py").write_text(text, encoding="utf-8")
        return hash_executed_code(["kokoro_tvm.helper:check"])["kokoro_tvm.helper:check"]

    first = digest("x < 1", 'ValueError("too small")')
    assert digest("x < 1", 'ValueError(f"{name} is too small: {x}, and should be 1 or more")') == first
    assert digest("x < 1", 'ValueError("one text " f"and {x}")') == first
    others = [
        digest("x < 2", 'ValueError("too small")'),
        digest("x < 1", 'KeyError("too small")'),
        digest("x < 1", 'ValueError("too small", name)'),
    ]
    assert len({first, *others}) == 4


def test_executed_code_counts_class_bodies_with_their_module(package: Path) -> None:
    assert hash_executed_code([*STFT, "kokoro_tvm.ops.stft:Drawer"]) == hash_executed_code(STFT)


def test_executed_code_counts_a_module_that_was_loaded_by_name(package: Path) -> None:
    loaded = ["kokoro_tvm.noise"]
    assert edited(package, "noise.py", "OTHER = 2", "OTHER = 3", loaded) == {"kokoro_tvm.noise"}
    assert edited(package, "noise.py", "return ROUNDS", "return 2", loaded) == set()


def test_all_code_counts_all_that_a_function_may_call(package: Path) -> None:
    code = hash_all_code(["kokoro_tvm.ops.stft:stft"])
    functions = {"ops.stft:stft", "ops.stft:_half", "ops.stft:_never", "ops.base:register", "noise:Draw.draw"}
    assert {f"kokoro_tvm.{name}" for name in functions} == {name for name in code if ":" in name}
    with pytest.raises(BuildError, match=r"there is no function kokoro_tvm\.ops\.stft:istft"):
        hash_all_code(["kokoro_tvm.ops.stft:istft"])


def test_executed_code_rejects_relative_imports_and_syntax_errors(package: Path) -> None:
    (package / "noise.py").write_text("from . import ops\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"noise\.py: a relative import"):
        hash_executed_code(DRAW)
    (package / "noise.py").write_text("TWO = (\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"noise\.py:1: not Python: '\(' was never closed"):
        hash_executed_code(DRAW)
