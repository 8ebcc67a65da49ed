"""pyproject.toml declares what the code imports and nothing else; what builds is pinned exactly."""

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
from kokoro_tvm.runtime.text.frontend.packages import CHINESE, ESPEAK, JAPANESE, Packages

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Imported by name at run time, tools that are run, what only the package imports: no import of a test shows
# them.
# What kokoro and misaki import, which no resolver adds on Pythons that their metadata excludes.
UNSEEN = {"addict", "loguru", "num2words"}
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
    "openvino",
    "securesystemslib",
    "packageurl-python",
}
LISTENING = {"fastapi", "h11", "pydantic", "pydantic-settings", "starlette", "uvicorn", "wsproto"}
# What misaki imports to speak Japanese and Chinese.
OF_MISAKI = {
    "fugashi", "jaconv", "mojimoji", "pyopenjtalk", "unidic-lite",
    "jieba", "cn2an", "pypinyin", "pypinyin-dict", "ordered-set",
}  # fmt: skip


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[\[=<>~ ]", requirement)[0]) for requirement in requirements}


@cache
def imported(*places: str) -> frozenset[str]:
    """Distributions that the files of these places import, also inside functions, installed or not."""
    owners = {module: [package] for package, module in SLOW_MODULES.items()} | packages_distributions()
    found = set()
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
                    found |= {normal(owner) for owner in owners[top][:1]}
    return frozenset(found)


def needed() -> frozenset[str]:
    """What the package imports. pydantic pins its core, and is the only way to get the one that fits."""
    return imported("kokoro_tvm", "dodo.py") - {"pydantic-core"}


BASE = names(PROJECT["dependencies"])
EXTRAS = {extra: names(pins) for extra, pins in PROJECT["optional-dependencies"].items()}
DECLARED = BASE | EXTRAS.pop("build")
SLOW = EXTRAS.pop("test-slow") - {"kokoro-tvm"}
FOR_TESTS = SLOW | EXTRAS.pop("test") - {"kokoro-tvm"}
# Commands that speak and nothing else.
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


def test_imports_are_declared() -> None:
    assert DECLARED.union(*EXTRAS.values()) >= needed()
    assert imported("tests") - {"pydantic-core"} <= DECLARED | FOR_TESTS


def test_what_speaks_needs_the_base_alone() -> None:
    """Other languages, a lexicon of one's own and signatures need packages, which the message names."""
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
def test_what_messages_name_is_what_the_extra_installs(packages: Packages) -> None:
    assert set(packages.modules) == EXTRAS[packages.extra]
    assert packages.missing == ()
    owners = packages_distributions()
    for name, module in packages.modules.items():
        assert name in {normal(owner) for owner in owners[module]}


def test_an_extra_of_a_language_is_what_is_tested() -> None:
    """The same versions as the tests have, from packages that pip alone can install."""
    pins = PROJECT["optional-dependencies"]
    tested = {*pins["build"], *pins["test-slow"]} | {pin.replace("[en]", "") for pin in pins["build"]}
    assert {*pins["espeak"], *pins["japanese"], *pins["chinese"]} <= tested


def test_what_is_hidden_from_other_tests_is_what_only_slow_ones_have() -> None:
    """And by the names that it is imported by, as far as it is installed."""
    assert set(SLOW_MODULES) == SLOW
    assert not SLOW & names(PROJECT["optional-dependencies"]["test"])
    owners = packages_distributions()
    installed = {normal(owner) for found in owners.values() for owner in found}
    for package, module in SLOW_MODULES.items():
        assert package not in installed or package in {normal(owner) for owner in owners[module]}


def test_the_base_is_what_speaks() -> None:
    assert {"numpy", "apache-tvm-ffi", "typer", "markdown-it-py"} == BASE


def test_nothing_is_declared_in_vain() -> None:
    assert DECLARED - needed() == UNSEEN
    assert FOR_TESTS - imported("tests") - imported("docs") <= TOOLS | OF_MISAKI


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_every_version_of_an_extra_is_exact(extra: str) -> None:
    requirements = set(PROJECT["optional-dependencies"][extra]) - {"kokoro-tvm[build]", "kokoro-tvm[test]"}
    if extra == "serve":
        requirements = {each for each in requirements if normal(re.split("[<>=]", each)[0]) not in LISTENING}
    refused = r"(; python_version < '3\.13')?"  # what kokoro_tvm/common/stock.txt has for newer ones
    exact = rf"[A-Za-z0-9_.-]+(\[\w+\])?==[\w.]+{refused}"
    assert [r for r in requirements if not re.fullmatch(exact, r)] == []


def test_stock_packages_have_the_versions_of_their_pins() -> None:
    """On each Python, the stock model is the same."""
    pins = {pin.replace("[en]", "") for pin in PROJECT["optional-dependencies"]["build"] if ";" in pin}
    lines = [line for line in STOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}$", line) for line in lines)
    assert {f"{line.split()[0]}; python_version < '3.13'" for line in lines} == pins


def test_what_listens_to_a_network_can_be_brought_up_to_date() -> None:
    """A range up to the next major version, in which the version lies that the tests have."""
    extras = PROJECT["optional-dependencies"]
    ranges = {r.partition(">=")[0]: r.partition(">=")[2] for r in extras["serve"] if ">=" in r}
    pins = [*extras["build"], *extras["test"]]
    tested = dict(r.split("==") for r in pins if r.partition("==")[0] in LISTENING)
    assert set(ranges) == set(tested) == LISTENING
    for name, range in ranges.items():
        least, most = (tuple(map(int, bound.split("."))) for bound in range.split(",<"))
        assert least < tuple(map(int, tested[name].split("."))) < most
        assert len(most) == 1


def test_the_runtime_is_built_with_what_it_runs_with() -> None:
    """libtvm_runtime, which bundles bring, and the tvm_ffi that is installed beside them."""
    base = {r.partition("==")[0]: r for r in PROJECT["dependencies"]}
    assert re.fullmatch(r"apache-tvm-ffi==[\w.]+", base["apache-tvm-ffi"])


def test_versions_in_the_docs_are_those_declared() -> None:
    declared = {
        normal(re.split(r"[\[=]", requirement)[0]): requirement.partition("==")[2]
        for requirement in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["build"])
    }
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for name, version in re.findall(r"([\w-]+)==([\w.]+\w)", page.read_text(encoding="utf-8")):
            assert declared[normal(name)] == version, f"{page.name}: {name}"


def test_licence_is_the_whole_text() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PROJECT["license"] == "Apache-2.0"
