"""Which tier a test is in. Every call of `pytest` runs it, if it is marked neither `slow` nor `nightly`.

`-m slow` runs, at every push, what takes long or needs packages of [test-slow]: real weights, code for other
machines, GPUs and browsers, several builds. `-m nightly` runs, at night, what takes minutes.
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

ASIAN = pytest.mark.slow("reads Japanese or Chinese by misaki's packages")
PINNED = pytest.mark.slow("what pinned packages do changes with their pins alone")
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
    "fugashi": "fugashi",
    "jaconv": "jaconv",
    "mojimoji": "mojimoji",
    "pyopenjtalk": "pyopenjtalk",
    "unidic-lite": "unidic_lite",
    "jieba": "jieba",
    "cn2an": "cn2an",
    "pypinyin": "pypinyin",
    "pypinyin-dict": "pypinyin_dict",
    "ordered-set": "ordered_set",
}
"""Package of [test-slow] -> what it is imported as."""

SLOW_FIXTURES = {"browser", "others", "real_bundle", "runner_runtime"}
"""What only tests of the tiers `slow` and `nightly` may use."""


def each_format(formats: Iterable[str]) -> list[Any]:
    """Parameters of a test of every format; those that PyAV encodes are slow."""
    return [pytest.param(name, marks=BY_AV) if name in ("opus", "aac") else name for name in formats]


def some_of(names: Iterable[str], default: Collection[str], why: str) -> list[Any]:
    """Names as parameters of a test; all but those of the default tier are slow."""
    names = tuple(names)
    assert {*default} <= {*names}
    return [name if name in default else pytest.param(name, marks=pytest.mark.slow(why)) for name in names]


def selection(expression: str) -> str:
    """The expression of `-m`, where `slow` leaves out what is nightly as well."""
    if re.search(r"(?<!not )\bslow\b", expression) and "nightly" not in expression:
        return f"({expression}) and not nightly"
    return expression


def hide_slow_packages(expression: str) -> None:
    """Makes packages of [test-slow] missing where slow tests do not run: a test that needs one fails on every
    machine alike."""
    if re.search(r"\bnot slow\b", expression):
        for module in SLOW_MODULES.values():
            sys.modules[module] = None  # type: ignore[assignment]


def each_language(codes: Iterable[str]) -> list[Any]:
    """Codes of languages as parameters of a test."""
    return [pytest.param(code, marks=ASIAN) if code in "jz" else code for code in codes]


def check(items: Iterable[pytest.Item]) -> None:
    """Raises pytest.UsageError where a slow test does not say why, or one is slow and does not say so."""
    if faults := [f"{item.nodeid}: {fault}" for item in items if (fault := _fault(item))]:
        raise pytest.UsageError("\n".join(faults))


def refuse_skip(item: pytest.Item, report: pytest.TestReport) -> None:
    """Makes a failure of a test of the default tier that is skipped because a package is missing."""
    slow = any(item.get_closest_marker(tier) for tier in ("slow", "nightly"))
    if report.skipped and not slow and re.search(r"pip install|extra \[", str(report.longrepr)):
        report.outcome = "failed"
        report.longrepr = f"What needs a package of [test-slow] is slow: {report.longrepr[-1]}"


def _fault(item: pytest.Item) -> str | None:
    slow = item.get_closest_marker("slow")
    if slow is not None:
        says = len(slow.args) == 1 and not slow.kwargs and str(slow.args[0]).strip()
        return None if says else 'say why it is slow: @pytest.mark.slow("opens a browser").'
    if item.get_closest_marker("nightly") is not None:
        return None
    if item.get_closest_marker("weights") is not None:
        return "what needs the real weights is slow or nightly."
    used = sorted(SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())))
    return f"what uses the fixture {used[0]} is slow or nightly." if used else None
