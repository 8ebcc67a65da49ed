"""Digests of code: what counts as a change, and whose."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.engine import code
from kokoro_tvm.engine.code import function_code, source_digests
from kokoro_tvm.errors import BuildError

FILES = {
    "__init__.py": "",
    "export.py": "import kokoro_tvm.ops\nfrom kokoro_tvm import helper\ndef one():\n    return helper.TWO\n",
    "helper.py": "from torch import nn\nTWO = 2\n",
    "ops/__init__.py": "from kokoro_tvm.ops.stft import stft\nfrom kokoro_tvm.ops.lstm import lstm\n",
    "ops/stft.py": "import kokoro_tvm.ops.helper\n\ndef stft():\n    return 1\n",
    "ops/lstm.py": "def lstm():\n    return 2\n",
    "ops/helper.py": "PI = 3\n",
    "patch.py": "from kokoro_tvm import ops\n\ndef forward():\n    return ops.stft()\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "kokoro_tvm"
    for name, text in FILES.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(code, "_PACKAGE", package)
    return package


def test_imports_are_followed(package: Path) -> None:
    found = source_digests(["kokoro_tvm.export"])
    modules = ("export", "helper", "ops", "ops.helper", "ops.lstm", "ops.stft")
    assert list(found) == [f"kokoro_tvm.{m}" for m in modules]


def test_of_a_package_apart_only_what_is_named_counts(package: Path) -> None:
    found = source_digests(["kokoro_tvm.export", "kokoro_tvm.patch"], apart=["kokoro_tvm.ops"])
    assert list(found) == [f"kokoro_tvm.{m}" for m in ("export", "helper", "ops.helper", "ops.stft", "patch")]


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\nPI = 3\n",
        '"""What it is."""\n\nPI   =   3  # about\n',
    ],
)
def test_comments_docstrings_and_layout_do_not_count(package: Path, text: str) -> None:
    before = source_digests(["kokoro_tvm.patch"])
    (package / "ops/helper.py").write_text(text, encoding="utf-8")
    assert source_digests(["kokoro_tvm.patch"]) == before


def test_the_wording_of_an_error_does_not_count_but_its_kind_and_condition_do(package: Path) -> None:
    def digest(condition: str, error: str) -> str:
        text = f"def check(x, name):\n    if {condition}:\n        raise {error}\n"
        (package / "helper.py").write_text(text, encoding="utf-8")
        return source_digests(["kokoro_tvm.helper"])["kokoro_tvm.helper"]

    first = digest("x < 1", 'ValueError("too small")')
    assert digest("x < 1", 'ValueError(f"{name} is too small: {x}, and should be 1 or more")') == first
    assert digest("x < 1", 'ValueError("one text " f"and {x}")') == first
    others = [
        digest("x < 2", 'ValueError("too small")'),
        digest("x < 1", 'KeyError("too small")'),
        digest("x < 1", 'ValueError("too small", name)'),
    ]
    assert len({first, *others}) == 4


def test_code_counts(package: Path) -> None:
    before = source_digests(["kokoro_tvm.patch"])
    (package / "ops/helper.py").write_text("PI = 3.1\n", encoding="utf-8")
    after = source_digests(["kokoro_tvm.patch"])
    assert {name for name in after if after[name] != before[name]} == {"kokoro_tvm.ops.helper"}


def test_a_function_with_what_it_uses(package: Path) -> None:
    before = function_code("kokoro_tvm.export", "one")
    text = FILES["export.py"].replace("def one():\n", 'def one():\n    """Tell."""\n') + "\nTHREE = 3\n"
    (package / "export.py").write_text(text, encoding="utf-8")
    assert function_code("kokoro_tvm.export", "one") == before
    (package / "export.py").write_text(text.replace("TWO", "TWO + 1"), encoding="utf-8")
    assert function_code("kokoro_tvm.export", "one") != before
    with pytest.raises(BuildError, match=r"kokoro_tvm\.export has no function two"):
        function_code("kokoro_tvm.export", "two")


STAGES = """
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kokoro_tvm.patch import forward

LIMIT = 3


def first(second: int) -> None:
    from kokoro_tvm import helper

    helper.run(second, _shared())


def second() -> None:
    _shared()


def _shared() -> int:
    from kokoro_tvm.ops.stft import stft

    return stft() + LIMIT
"""


def test_helpers_and_constants_count_and_what_they_import_but_no_namesake(package: Path) -> None:
    def digests() -> dict[str, str]:
        return {name: function_code("kokoro_tvm.stages", name)[0] for name in ("first", "second", "_shared")}

    path = package / "stages.py"
    path.write_text(STAGES, encoding="utf-8")
    before = digests()
    _, imported = function_code("kokoro_tvm.stages", "first")
    assert {"kokoro_tvm.helper", "kokoro_tvm.ops.stft"} <= set(imported)
    assert "kokoro_tvm.patch" not in imported
    path.write_text(STAGES.replace("LIMIT = 3", "LIMIT = 4"), encoding="utf-8")
    assert all(before[name] != digest for name, digest in digests().items())
    path.write_text(STAGES.replace("    _shared()\n\n\ndef", "    1 + _shared()\n\n\ndef"), encoding="utf-8")
    changed = {name for name, digest in digests().items() if before[name] != digest}
    assert changed == {"second"}, "`second` of `first` is its argument"


def test_what_is_imported_for_types_alone_does_not_count(package: Path) -> None:
    (package / "stages.py").write_text(STAGES, encoding="utf-8")
    assert "kokoro_tvm.patch" not in source_digests(["kokoro_tvm.stages"])


def test_what_cannot_be_followed_is_refused(package: Path) -> None:
    (package / "helper.py").write_text("from . import export\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"helper\.py: a relative import"):
        source_digests(["kokoro_tvm.export"])
    (package / "helper.py").write_text("TWO = (\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"helper\.py:1: not Python: '\(' was never closed"):
        source_digests(["kokoro_tvm.export"])


def test_a_function_of_somebody_elses_module(package: Path) -> None:
    """Its own code counts, and what it imports from the package."""
    digest, imported = function_code("fake_stages", "refuse")
    assert imported == ["kokoro_tvm.errors", "kokoro_tvm.errors.ValidationError"]
    assert digest != function_code("fake_stages", "several")[0]
    with pytest.raises(BuildError, match="fake_stages has no function wrote"):
        function_code("fake_stages", "wrote")


@pytest.mark.parametrize("module", ["kokoro_tvm.nothing", "nothing_of_that_name", "sys"])
def test_a_module_without_a_file(package: Path, module: str) -> None:
    with pytest.raises(BuildError, match=f"there is no module {module}"):
        function_code(module, "run")
