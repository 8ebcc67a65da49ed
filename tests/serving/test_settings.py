"""Settings by flags, environment and file; each mistake with its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.settings import Settings, read_settings, settings

PAGE = Path(__file__).parents[2] / "docs/serving.md"


def test_flags_come_before_the_environment_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(
        "port: 1\nhost: a\nidle: 5\ncors: [x, 'y']\napi_key: k\nlog_texts: yes\n", encoding="utf-8"
    )
    environment = {"KOKORO_TVM_SERVE_PORT": "2", "KOKORO_TVM_SERVE_HOST": "b", "PATH": "/"}
    environment["KOKORO_TVM_SERVE_PRIORITY_KEY"] = "p, q"
    found = read_settings({"port": 3, "cors": [], "workers": None}, environment, file)
    assert found == Settings(
        port=3,
        host="b",
        idle=5.0,
        cors=("x", "y"),
        api_key=("k",),
        priority_key=("p", "q"),
        log_texts=True,
    )


def test_defaults_are_within_their_bounds() -> None:
    assert read_settings({}, {}) == Settings()
    for setting in settings():
        if setting.default is not None:
            assert setting.check(setting.default) == setting.default


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prot: 1\n", ":1:1: unknown setting `prot`; did you mean `port`?"),
        ("port: 1\nport: 2\n", ":2:1: the key `port` stands here a second time; line 1 has it already."),
        ("host: a\nport: many\n", ":2:7: `port` should be a whole number, but is 'many'."),
        ("port: 70000\n", ":1:7: `port` should be 0 to 65535, but is 70000."),
        ("idle: nan\n", ":1:7: `idle` should be a number, but is nan."),
        ("idle: 0\n", ":1:7: `idle` should be 0.1 or more, but is 0.0."),
        ("log_texts: perhaps\n", ":1:12: `log_texts` should be true or false, but is 'perhaps'."),
        ("port: [1]\n", ":1:7: the value of `port` should stand here, not a list or a mapping."),
        ("cors: [[a]]\n", ":1:8: text should stand here, not a list or a mapping."),
        ("cors: {a: b}\n", ":1:7: the value of `cors` should stand here, not a list or a mapping."),
        ("- a\n", ":1:1: the file should be a mapping, lines of `key: value`."),
        ("host: *a\n", ":1:7: anchors and aliases (a) are not allowed: write the value out."),
    ],
)
def test_a_mistake_in_the_file(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_settings({}, {}, file)
    assert str(caught.value).split("\n")[0] == f"{file}{message}"


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({"port": -1}, {}, "--port should be 0 to 65535, but is -1."),
        (
            {},
            {"KOKORO_TVM_SERVE_PORT": "x"},
            "KOKORO_TVM_SERVE_PORT should be a whole number, but is 'x'.",
        ),
        (
            {},
            {"KOKORO_TVM_SERVE_PROT": "1"},
            "There is no environment variable KOKORO_TVM_SERVE_PROT; did you mean `KOKORO_TVM_SERVE_PORT`?",
        ),
    ],
)
def test_a_mistake_elsewhere(flags: dict[str, Any], environment: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(flags, environment)
    assert str(caught.value) == message


def test_no_default_is_written_in_prose() -> None:
    """A number beside the table would be wrong where the setting is another: the docs name the setting."""
    page = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    for setting in settings():
        if setting.name.startswith(("most_", "longest")) or setting.name in {"silence", "patience"}:
            shown = f"{setting.default:,g}" if isinstance(setting.default, float) else f"{setting.default:,}"
            assert not re.search(rf"\b{shown} (characters|requests|speeches|sessions|clients|s\b)", page), (
                shown
            )
