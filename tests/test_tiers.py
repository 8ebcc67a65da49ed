"""Test the tiers of the suite: see tiers.py."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

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

@slow
@pytest.mark.nightly
def test_nightly(): pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    return pytester


@pytest.mark.parametrize(
    ("expression", "name"),
    [("not slow and not nightly", "test_plain"), ("slow", "test_slow"), ("nightly", "test_nightly")],
)
def test_selection_runs_every_test_in_one_tier(expression: str, name: str, run: pytest.Pytester) -> None:
    run.makepyfile(TESTS)
    result = run.inline_run("-p", "no:xdist", "-p", "no:benchmark", "-m", expression)
    calls = [report.nodeid for report in result.getreports() if report.when == "call"]
    assert [call.partition("::")[2] for call in calls] == [name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@pytest.mark.slow\ndef test_it(): pass", "say why it is slow"),
        (
            "@pytest.mark.weights\ndef test_it(): pass",
            "needs the real weights",
        ),
        ("@pytest.fixture\ndef browser(): pass\ndef test_it(browser): pass", "uses the fixture browser"),
    ],
)
def test_check_refuses_a_slow_test_without_its_marker(text: str, message: str, run: pytest.Pytester) -> None:
    run.makepyfile(f"import pytest\n{text}")
    result = run.runpytest_inprocess("-p", "no:xdist", "-p", "no:benchmark")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in "\n".join(result.errlines)


@pytest.mark.parametrize(
    ("reason", "outcomes"),
    [("no such package: run `pip install it`", {"failed": 1}), ("this CPU lacks AVX-512", {"skipped": 1})],
)
def test_default_tier_skips_nothing_for_want_of_a_package(
    reason: str, outcomes: dict[str, int], run: pytest.Pytester
) -> None:
    run.makepyfile(f"import pytest\ndef test_it():\n    pytest.skip({reason!r})")
    run.runpytest_inprocess("-p", "no:xdist", "-p", "no:benchmark").assert_outcomes(**outcomes)
