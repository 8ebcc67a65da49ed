"""The tiers of the suite.

`pytest` runs every test that is marked neither `slow` nor `nightly`. `-m slow` (at every push) runs tests
that take long or need packages of [test-slow]: real weights, other machines, GPUs, browsers, several builds.
`-m nightly` runs tests that take minutes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from typing import Any

import pytest

__all__ = [
    "ASIAN",
    "BY_AV",
    "PINNED",
    "SLOW_MODULES",
    "check",
    "each_format",
    "each_language",
    "hide_slow_packages",
    "refuse_skip",
    "selection",
    "some_of",
]

ASIAN = pytest.mark.slow("reads Japanese or Chinese with misaki's packages")
PINNED = pytest.mark.slow("changes only when a pinned package changes")
BY_AV = pytest.mark.slow("needs PyAV")
SLOW_MODULES = {
    "imageio-ffmpeg": "imageio_ffmpeg",
    "av": "av",
    "playwright": "playwright",
    "wgpu": "wgpu",
    "wordfreq": "wordfreq",
    "nvidia-cuda-nvrtc": "nvidia",
    "nvidia-nvfatbin": "nvidia",
    "ziglang": "ziglang",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "matplotlib": "matplotlib",
    "sphinx": "sphinx",
    "furo": "furo",
    "myst-parser": "myst_parser",
    "sphinx-external-toc": "sphinx_external_toc",
    "fugashi": "fugashi",
    "jaconv": "jaconv",
    "mojimoji": "mojimoji",
    "pyopenjtalk": "pyopenjtalk",
    "unidic-lite": "unidic_lite",
    "jieba": "jieba",
    "cn2an": "cn2an",
    "pypinyin": "pypinyin",
    "g2pm": "g2pM",
    "pypinyin-dict": "pypinyin_dict",
    "ordered-set": "ordered_set",
}
"""Package of [test-slow] to the module that it installs."""

SLOW_FIXTURES = {"browser", "others", "real_bundle", "runner_runtime"}
"""Fixtures of the slow and nightly tiers."""


def each_format(formats: Iterable[str]) -> list[Any]:
    """Return formats as parameters of a test. Formats that PyAV encodes are slow."""
    return [pytest.param(name, marks=BY_AV) if name in ("opus", "aac") else name for name in formats]


def some_of(names: Iterable[str], default: Collection[str], why: str) -> list[Any]:
    """Return names as parameters of a test. Names that are not in `default` are slow."""
    names = tuple(names)
    assert {*default} <= {*names}
    return [name if name in default else pytest.param(name, marks=pytest.mark.slow(why)) for name in names]


def selection(expression: str) -> str:
    """Return the expression of `-m`, so that `slow` leaves out nightly tests."""
    if re.search(r"(?<!not )\bslow\b", expression) and "nightly" not in expression:
        return f"({expression}) and not nightly"
    return expression


def hide_slow_packages(expression: str) -> None:
    """Hide the packages of [test-slow] from a run of the default tier."""
    if re.search(r"\bnot slow\b", expression):
        for module in SLOW_MODULES.values():
            sys.modules[module] = None  # type: ignore[assignment]


def each_language(codes: Iterable[str]) -> list[Any]:
    """Return codes of languages as parameters of a test."""
    return [pytest.param(code, marks=ASIAN) if code in "jz" else code for code in codes]


def check(items: Iterable[pytest.Item]) -> None:
    """Raise pytest.UsageError for a slow test without a reason or without the marker."""
    if faults := [f"{item.nodeid}: {fault}" for item in items if (fault := _fault(item))]:
        raise pytest.UsageError("\n".join(faults))


def refuse_skip(item: pytest.Item, report: pytest.TestReport) -> None:
    """Fail a test of the default tier that is skipped because a package is missing."""
    slow = any(item.get_closest_marker(tier) for tier in ("slow", "nightly"))
    if report.skipped and not slow and re.search(r"pip install|extra \[", str(report.longrepr)):
        report.outcome = "failed"
        report.longrepr = f"A test that needs a package of [test-slow] is slow: {report.longrepr[-1]}"


def _fault(item: pytest.Item) -> str | None:
    slow = item.get_closest_marker("slow")
    if slow is not None:
        return (
            None
            if slow.args and str(slow.args[0]).strip()
            else 'say why it is slow: @pytest.mark.slow("opens a browser").'
        )
    if item.get_closest_marker("nightly") is not None:
        return None
    if item.get_closest_marker("weights") is not None:
        return "a test that needs the real weights is slow or nightly."
    used = sorted(SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())))
    return f"a test that uses the fixture {used[0]} is slow or nightly." if used else None
