"""Every test is in one tier, and one that is slow says why: tiers.py."""

from __future__ import annotations

import importlib
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import tiers

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
ALONE = ("-p", "no:xdist", "-p", "no:benchmark")
CONFTEST = """
import pytest, tiers

def pytest_configure(config):
    config.option.markexpr = tiers.selection(config.option.markexpr)
    for name in ("slow", "nightly", "weights"):
        config.addinivalue_line("markers", name)

def pytest_collection_modifyitems(items):
    tiers.check(items)

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    tiers.refuse_skip(item, report)
    return report
"""
TESTS = """
import pytest

slow = pytest.mark.slow("opens a browser")

def test_plain(): pass

@slow
def test_slow(): pass

@pytest.mark.nightly
def test_nightly(): pass

@slow
@pytest.mark.nightly
def test_both(): pass
"""


def default() -> str:
    """What `pytest` selects without -m."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    words = shlex.split(project["tool"]["pytest"]["ini_options"]["addopts"])
    return words[words.index("-m") + 1]


@pytest.fixture
def run(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    return pytester


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (default(), ["test_plain"]),
        ("slow", ["test_slow"]),
        ("nightly", ["test_nightly", "test_both"]),
    ],
)
def test_each_is_in_one(expression: str, names: list[str], run: pytest.Pytester) -> None:
    run.makepyfile(TESTS)
    found = run.inline_run(*ALONE, "-m", expression)
    called = [report.nodeid for report in found.getreports() if report.when == "call"]
    assert [name.partition("::")[2] for name in called] == names


@pytest.mark.parametrize(
    "expression", ["not slow", default(), "nightly", "nightly or slow", "gpu", "", "slow and not nightly"]
)
def test_what_says_more_than_slow_is_taken_as_it_is(expression: str) -> None:
    assert tiers.selection(expression) == expression


REFUSED = {
    "@pytest.mark.slow\ndef test_it(): pass": "say why it is slow",
    "@pytest.mark.slow('')\ndef test_it(): pass": "say why it is slow",
    "@pytest.mark.slow(why='it is')\ndef test_it(): pass": "say why it is slow",
    "@pytest.mark.weights\ndef test_it(): pass": "what needs the real weights is slow or nightly",
    "def test_it(browser): pass": "what uses the fixture browser is slow or nightly",
    "@pytest.fixture\ndef page(real_bundle): pass\ndef test_it(page): pass": "uses the fixture real_bundle",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_slow_and_does_not_say_so_is_refused(text: str, run: pytest.Pytester) -> None:
    fixtures = "".join(f"@pytest.fixture\ndef {name}(): pass\n" for name in sorted(tiers.SLOW_FIXTURES))
    run.makepyfile(f"import pytest\n{fixtures}\n{text}")
    done = run.runpytest_inprocess(*ALONE)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert REFUSED[text] in "\n".join(done.errlines)


def test_all_faults_are_named_at_once(run: pytest.Pytester) -> None:
    marks = "@pytest.mark.slow\n@pytest.mark.parametrize('x', 'ab')"
    run.makepyfile(f"import pytest\n{marks}\ndef test_it(x): pass")
    done = run.runpytest_inprocess(*ALONE)
    done.stderr.fnmatch_lines(["*test_it[[]a[]]: say why*", "*test_it[[]b[]]: say why*"])


@pytest.mark.parametrize("skip", ["pytest.skip(REASON)", "pytest.importorskip('nothing', reason=REASON)"])
@pytest.mark.parametrize(
    ("reason", "marks", "outcomes"),
    [
        ("no such package: run `pip install it`", "", {"failed": 1}),
        ("no such package: run `pip install it`", "@pytest.mark.slow('needs it')", {"skipped": 1}),
        ("this CPU lacks AVX-512", "", {"skipped": 1}),
    ],
)
def test_by_default_nothing_is_skipped_for_want_of_a_package(
    skip: str, reason: str, marks: str, outcomes: dict[str, int], run: pytest.Pytester
) -> None:
    run.makepyfile(f"import pytest\nREASON = {reason!r}\n{marks}\ndef test_it():\n    {skip}")
    run.runpytest_inprocess(*ALONE).assert_outcomes(**outcomes)


def test_packages_of_slow_tests_are_missing_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "SLOW_MODULES", {"package": "a_module_of_it"})
    monkeypatch.setitem(sys.modules, "a_module_of_it", ModuleType("a_module_of_it"))
    tiers.hide_slow_packages("slow")
    assert importlib.import_module("a_module_of_it")
    tiers.hide_slow_packages(default())
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("a_module_of_it")
