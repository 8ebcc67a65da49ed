"""Test that pyproject.toml declares what the code imports, and pins what artifacts depend on."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from tiers import ASIAN, SLOW_MODULES

from kokoro_tvm.common.packages import STOCK
from kokoro_tvm.runtime.text.frontend.packages import CHINESE, ESPEAK, JAPANESE, LanguagePackages

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Dependencies of kokoro and misaki, which pip does not install on Pythons that their metadata excludes.
INDIRECT = {"addict", "loguru", "num2words"}
# LanguagePackages that tests run or need indirectly, but do not import.
TOOLS = {
    "pytest-benchmark",
    "pytest-xdist",
    "jiwer",
    "ruff",
    "mypy",
    "types-pyyaml",
    "distributed",
    "aiohttp",
    "fastapi",
    "pydantic-settings",
    "starlette",
    "uvicorn",
    "nvidia-cuda-nvrtc",
    "nvidia-nvfatbin",
    "wgpu",
    "lameenc",
    "wsproto",
    "h11",
    "prometheus-client",
    "ziglang",
    "onnxruntime",
    "psutil",
    "openvino",
    "securesystemslib",
    "packageurl-python",
    "sphinx",
    "furo",
    "myst-parser",
    "sphinx-external-toc",
    "lxml",
    "mammoth",
    "pypdf",
}
RANGES = {
    *("fastapi", "h11", "pydantic", "pydantic-settings", "starlette", "uvicorn", "wsproto"),
    *("lxml", "mammoth", "pypdf"),
}
# Dependencies of misaki for Japanese and Chinese.
MISAKI = {
    "fugashi", "jaconv", "mojimoji", "pyopenjtalk", "unidic-lite",
    "jieba", "cn2an", "pypinyin", "g2pm", "pypinyin-dict", "ordered-set",
}  # fmt: skip


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[\[=<>~ ]", requirement)[0]) for requirement in requirements}


@cache
def imported(*places: str) -> frozenset[str]:
    """Return the distributions that these files import, inside functions too."""
    owners = {module: [package] for package, module in SLOW_MODULES.items()} | packages_distributions()
    result = set()
    files = [
        p
        for place in places
        for p in ([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py"))
    ]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                modules = [node.module]
            else:
                continue
            for module in modules:
                top = module.partition(".")[0]
                if top not in sys.stdlib_module_names and top != "kokoro_tvm" and top in owners:
                    result |= {normal(owner) for owner in owners[top][:1]}
    return frozenset(result)


def imported_by_package() -> frozenset[str]:
    """Return the distributions that the package imports; pydantic pins its core itself."""
    return imported("kokoro_tvm", "dodo.py") - {"pydantic-core"}


BASE = names(PROJECT["dependencies"])
EXTRAS = {extra: names(pins) for extra, pins in PROJECT["optional-dependencies"].items()}
DECLARED = BASE | EXTRAS.pop("build")
SLOW = EXTRAS.pop("test-slow") - {"kokoro-tvm"}
FOR_TESTS = SLOW | EXTRAS.pop("test") - {"kokoro-tvm"}
SPEAKING = (
    "speak/say",
    "speak/pull",
    "speak/voices",
    "speak/inspect",
    "_app",
    "_speech",
    "_output",
    "__init__",
)


def test_every_import_is_declared() -> None:
    assert DECLARED.union(*EXTRAS.values()) >= imported_by_package()
    assert imported("tests") - {"pydantic-core"} <= DECLARED | FOR_TESTS


def test_speaking_imports_only_base_dependencies() -> None:
    # Other languages, user lexicons and signatures need an extra, which the message names.
    places = (
        "kokoro_tvm/runtime",
        *(f"kokoro_tvm/cli/{name}.py" for name in SPEAKING),
    )
    own = EXTRAS["espeak"] | EXTRAS["japanese"] | EXTRAS["chinese"] | EXTRAS["lexicon"] | EXTRAS["trust"]
    assert imported(*places) - BASE <= {"rich"} | own, "rich comes with typer"


@pytest.mark.parametrize(
    "packages",
    [ESPEAK, pytest.param(JAPANESE, marks=ASIAN), pytest.param(CHINESE, marks=ASIAN)],
    ids=lambda packages: packages.extra,
)
def test_language_packages_are_those_of_their_extra(packages: LanguagePackages) -> None:
    assert set(packages.modules) == EXTRAS[packages.extra]
    assert packages.missing == ()
    owners = packages_distributions()
    for name, module in packages.modules.items():
        assert name in {normal(owner) for owner in owners[module]}


def test_slow_modules_are_those_of_the_extra() -> None:
    assert set(SLOW_MODULES) == SLOW
    assert not SLOW & names(PROJECT["optional-dependencies"]["test"])
    owners = packages_distributions()
    installed = {normal(owner) for found in owners.values() for owner in found}
    for package, module in SLOW_MODULES.items():
        assert package not in installed or package in {normal(owner) for owner in owners[module]}


def test_every_declared_package_is_imported() -> None:
    assert DECLARED - imported_by_package() == INDIRECT
    assert FOR_TESTS - imported("tests") - imported("docs") <= TOOLS | MISAKI


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_versions_of_an_extra_are_exact(extra: str) -> None:
    requirements = set(PROJECT["optional-dependencies"][extra]) - {"kokoro-tvm[build]", "kokoro-tvm[test]"}
    if extra in ("serve", "documents"):  # they read what strangers send
        requirements = {each for each in requirements if normal(re.split("[<>=]", each)[0]) not in RANGES}
    refused = r"(; python_version < '3\.13')?"  # what kokoro_tvm/common/stock.txt has for newer ones
    exact = rf"[A-Za-z0-9_.-]+(\[\w+\])?==[\w.]+{refused}"
    assert [r for r in requirements if not re.fullmatch(exact, r)] == []


def test_stock_packages_have_the_pinned_versions() -> None:
    pins = {pin.replace("[en]", "") for pin in PROJECT["optional-dependencies"]["build"] if ";" in pin}
    lines = [line for line in STOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}$", line) for line in lines)
    assert {f"{line.split()[0]}; python_version < '3.13'" for line in lines} == pins


def test_network_packages_have_ranges_that_hold_the_tested_version() -> None:
    extras = PROJECT["optional-dependencies"]
    ranges = {
        r.partition(">=")[0]: r.partition(">=")[2] for r in extras["serve"] + extras["documents"] if ">=" in r
    }
    pins = [*extras["build"], *extras["test"]]
    tested = dict(r.split("==") for r in pins if r.partition("==")[0] in RANGES)
    assert set(ranges) == set(tested) == RANGES
    for name, range in ranges.items():
        least, most = (tuple(map(int, bound.split("."))) for bound in range.split(",<"))
        assert least < tuple(map(int, tested[name].split("."))) < most
        assert len(most) == 1
