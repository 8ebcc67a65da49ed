"""Settings by options, environment and file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.settings import PREFIX, Settings, read_settings


def test_settings_prefer_options_to_the_environment_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "serve.yaml"
    content = "port: 1\nhost: a\nidle_timeout_s: 5\ncors: [x, 'y']\napi_key: k\nlog_texts: yes\n"
    file.write_text(content, encoding="utf-8")
    for name, value in {"PORT": "2", "HOST": "b", "PRIORITY_KEY": "p, q"}.items():
        monkeypatch.setenv(PREFIX + name, value)
    settings = read_settings(["--config", str(file), "--port", "3", "--bundle", "one", "--bundle", "two"])
    assert settings == Settings(
        config=file,
        bundle=("one", "two"),
        port=3,
        host="b",
        idle_timeout_s=5.0,
        cors=("x", "y"),
        api_key=("k",),
        priority_key=("p", "q"),
        log_texts=True,
    )
    monkeypatch.setenv(PREFIX + "CONFIG", str(file))
    assert read_settings([]).idle_timeout_s == 5.0


def test_settings_reach_a_worker_unchanged() -> None:
    settings = Settings(bundle=("a", "b"), api_key=("k",), wyoming_port=1, request_timeout_s=2.5)
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prot: 1\n", ":1:1: unknown setting `prot`; did you mean `port`?"),
        ("port: 1\nport: 2\n", ":2:1: the key `port` stands here a second time; line 1 has it already."),
        ("host: a\nport: many\n", ":2:7: `port`: Input should be a valid integer"),
        ("port: 70000\n", ":1:7: `port`: Input should be less than or equal to 65535, but is '70000'."),
        ("idle_timeout_s: nan\n", ":1:17: `idle_timeout_s`: Input should be"),
        ("log_texts: perhaps\n", ":1:12: `log_texts`: Input should be a valid boolean"),
        ("port: [1]\n", ":1:7: `port`: Input should be a valid integer"),
        ("cors: [[a]]\n", ":1:8: text should stand here, not a list or a mapping"),
        ("cors: {a: b}\n", ":1:7: `cors`: Input should be a valid tuple"),
        ("- a\n", ":1:1: the file should be a mapping, lines of `key: value`."),
    ],
)
def test_settings_show_the_place_of_a_mistake_in_the_file(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_settings(["--config", str(file)])
    assert str(caught.value).startswith(f"{file}{message}")


def test_settings_need_the_file_that_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_settings(["--config", str(tmp_path / "none.yaml")])


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (["--port", "-1"], {}, "Input should be greater than or equal to 0, but is '-1'."),
        (
            [],
            {"PORT": "x"},
            "--port or KOKORO_TVM_SERVE_PORT: Input should be a valid integer",
        ),
        ([], {"PROT": "1"}, "KOKORO_TVM_SERVE_PROT; did you mean `KOKORO_TVM_SERVE_PORT`?"),
        (["--prot", "1"], {}, "unrecognized arguments: --prot 1; did you mean `--port`?"),
        (["--port"], {}, "argument --port: expected one argument"),
    ],
)
def test_settings_name_a_mistake_elsewhere(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str], message: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(InputError) as caught:
        read_settings(arguments)
    assert message in str(caught.value)
