"""Messages of errors."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from kokoro_tvm.common import errors
from kokoro_tvm.common.errors import BuildError, KokoroTvmError, sentence

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests/recipe/golden").glob("*.txt"))
KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, KokoroTvmError)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("no such file", "no such file."),
        ("no such file.", "no such file."),
        ("did you mean `cpu`?", "did you mean `cpu`?"),
        ("Run `pip install x`", "Run `pip install x`."),
        ("two lines\nof a program", "two lines\nof a program"),
        ("", ""),
    ],
)
def test_error_message_ends_with_a_full_stop(kind: type[KokoroTvmError], message: str, shown: str) -> None:
    assert str(kind(message)) == shown
    assert sentence(shown) == shown


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_recipe_message_ends_with_a_full_stop(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert re.search(r"[.?]$", first)
    assert not re.search(r"[.?]{2}$", first)


def test_error_survives_pickling() -> None:
    first = BuildError("gone")
    assert str(BuildError(str(first))) == str(first) == "gone."
