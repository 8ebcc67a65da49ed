"""Digests of code: what counts as a change of a function that ran, and of whom."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kokoro_tvm.engine import code
from kokoro_tvm.engine.code import all_code, executed_code, functions_of
from kokoro_tvm.errors import BuildError

ROOT = Path(__file__).parents[2]
FILES = {
    "__init__.py": "",
    "ops/__init__.py": "from kokoro_tvm.ops.stft import stft\nfrom kokoro_tvm.ops.table import TABLE\n",
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
    """What of the code of functions differs after an edit."""
    before = executed_code(functions, imported)
    path = package / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    after = executed_code(functions, imported)
    path.write_text(text, encoding="utf-8")
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@pytest.mark.parametrize(
    ("old", "new", "functions", "changed"),
    [
        ("x // 2", "x // 3", STFT, {"kokoro_tvm.ops.stft:_half()"}),
        ("_never(x):", "_never(x, y=0):", STFT, set()),  # it did not run
        ("sorted(x)", "list(x)", STFT, set()),
        ("WINDOW = 3", "WINDOW = 4", STFT, {"kokoro_tvm.ops.stft:WINDOW"}),
        ("UNUSED = 1", "UNUSED = 2", STFT, set()),
        ('("stft")', '("istft")', STFT, {"kokoro_tvm.ops.stft:stft()"}),
        ("    def unused", "    def draw_all(self):\n        pass\n\n    def unused", STFT, set()),
        # A method more may be called in the place of a base's.
        ("def unused", "def other", DRAW, {"kokoro_tvm.ops.stft:Drawer"}),
        ("return 1", "return 2", DRAW, set()),
        ("rounds = ROUNDS", "rounds = 2", DRAW, {"kokoro_tvm.ops.stft:Drawer"}),
        ("def _never", "_half = _half\n\n\ndef _never", STFT, {"kokoro_tvm.ops.stft:_half()"}),
        # Now Python's own function is no longer what the name means.
        ("UNUSED = 1", "def super():\n    pass", DRAW, {"kokoro_tvm.ops.stft:super"}),
    ],
)
def test_what_counts_of_a_module(
    package: Path, old: str, new: str, functions: list[str], changed: set[str]
) -> None:
    found = edited(package, "ops/stft.py", old, new, functions)
    assert found >= changed
    assert bool(found) == bool(changed)


@pytest.mark.parametrize("functions", [STFT, DRAW])
def test_a_constant_of_another_module_counts_where_it_is_used(package: Path, functions: list[str]) -> None:
    assert edited(package, "noise.py", "ROUNDS = 7", "ROUNDS = 6", functions) == {"kokoro_tvm.noise:ROUNDS"}
    assert edited(package, "noise.py", "OTHER = 2", "OTHER = 3", functions) == set()


def test_what_an_import_leads_to_counts(package: Path) -> None:
    assert edited(package, "noise.py", "OTHER = 2", "OTHER = 3", CALL) == {"kokoro_tvm.noise:OTHER"}
    assert edited(package, "noise.py", "ROUNDS = 7", "ROUNDS = 3", CALL) == set(), (
        "its argument is no namesake"
    )
    assert edited(package, "ops/table.py", "TABLE = _made()", "TABLE = [2]", CALL) >= {
        "kokoro_tvm.ops.table:TABLE"
    }
    assert "kokoro_tvm.ops.table:TABLE" in executed_code(CALL)


def test_what_ran_while_a_module_was_imported_counts_where_its_value_does(package: Path) -> None:
    made = ("kokoro_tvm.ops.table:_made", "kokoro_tvm.ops.base:register")
    change = ("ops/table.py", "[1]", "[2]")
    assert edited(package, *change, CALL, made) == {"kokoro_tvm.ops.table:_made()"}
    assert edited(package, *change, STFT, made) == set()
    assert edited(package, "ops/base.py", "setdefault", "get", STFT, made) == {
        "kokoro_tvm.ops.base:register()"
    }
    found = executed_code(CALL, made)
    assert executed_code(functions_of(found)) == found, "a past run's functions give the same again"


@pytest.mark.parametrize(
    "new",
    [
        "    # a comment\n    return x // 2 + ROUNDS\n",
        '    """What it is."""\n\n    return   x  //  2 + (ROUNDS)  # about\n',
    ],
)
def test_comments_docstrings_and_layout_do_not_count(package: Path, new: str) -> None:
    assert edited(package, "ops/stft.py", "    return x // 2 + ROUNDS\n", new, STFT) == set()


def test_the_wording_of_an_error_does_not_count_but_its_kind_and_condition_do(package: Path) -> None:
    def digest(condition: str, error: str) -> str:
        text = f"def check(x, name):\n    if {condition}:\n        raise {error}\n"
        (package / "helper.py").write_text(text, encoding="utf-8")
        return executed_code(["kokoro_tvm.helper:check"])["kokoro_tvm.helper:check()"]

    first = digest("x < 1", 'ValueError("too small")')
    assert digest("x < 1", 'ValueError(f"{name} is too small: {x}, and should be 1 or more")') == first
    assert digest("x < 1", 'ValueError("one text " f"and {x}")') == first
    others = [
        digest("x < 2", 'ValueError("too small")'),
        digest("x < 1", 'KeyError("too small")'),
        digest("x < 1", 'ValueError("too small", name)'),
    ]
    assert len({first, *others}) == 4


def test_the_body_of_a_class_that_was_imported_meanwhile_counts_where_it_is_used(package: Path) -> None:
    assert executed_code([*STFT, "kokoro_tvm.ops.stft:Drawer"]) == executed_code(STFT)


def test_a_module_loaded_by_name_counts_with_its_classes_and_values(package: Path) -> None:
    loaded = ["kokoro_tvm.noise:*"]
    assert edited(package, "noise.py", "OTHER = 2", "OTHER = 3", loaded) == {"kokoro_tvm.noise:OTHER"}
    assert edited(package, "noise.py", "return ROUNDS", "return 2", loaded) == set()
    more = ("    def draw", "    def drew(self):\n        pass\n\n    def draw")
    assert edited(package, "noise.py", *more, loaded) == {"kokoro_tvm.noise:Draw"}


def test_what_has_to_be_known_before_it_runs_is_all_that_it_may_call(package: Path) -> None:
    found = all_code(["kokoro_tvm.ops.stft:stft"])
    functions = {"ops.stft:stft", "ops.stft:_half", "ops.stft:_never", "ops.base:register"}
    assert {f"kokoro_tvm.{name}()" for name in functions} == {name for name in found if name.endswith("()")}
    with pytest.raises(BuildError, match=r"there is no function kokoro_tvm\.ops\.stft:istft"):
        all_code(["kokoro_tvm.ops.stft:istft"])


def test_what_cannot_be_followed_is_refused(package: Path) -> None:
    (package / "noise.py").write_text("from . import ops\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"noise\.py: a relative import"):
        executed_code(DRAW)
    (package / "noise.py").write_text("TWO = (\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"noise\.py:1: not Python: '\(' was never closed"):
        executed_code(DRAW)


DIGESTS = """
import hashlib, sys
from pathlib import Path
from kokoro_tvm.engine import code

total = hashlib.sha256()
for path in sorted(Path(code.__file__).parents[1].rglob("*.py")):
    total.update(code._outline(path).encode())
print(total.hexdigest())
"""


@pytest.mark.slow("digests the whole package with every version of Python that is installed")
def test_every_version_of_python_digests_alike() -> None:
    printed = {}
    for python in {sys.executable, *(f"python3.{minor}" for minor in range(11, 15))}:
        with suppress(OSError, subprocess.CalledProcessError):  # not there, or a name that leads nowhere
            subprocess.run([python, "--version"], check=True, capture_output=True)
            done = subprocess.run(
                [python, "-c", DIGESTS], cwd=ROOT, check=True, capture_output=True, text=True
            )
            printed[python] = done.stdout
    if len(printed) == 1:
        pytest.skip("no other Python is installed")
    assert len({*printed.values()}) == 1, printed
