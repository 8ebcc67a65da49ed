"""The end of a log, as the build reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.builder.engine.reporter import last_lines, last_phase


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "stage.log"


def test_no_log(log: Path) -> None:
    assert last_lines(log, 5) == []
    assert last_phase(log) == ""


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("import: 1 functions\nfuse: 12 functions\n", "fuse: 12 functions"),
        ("lowered\n\n  \n", "lowered"),
        ("half a li", "half a li"),
    ],
)
def test_a_phase_is_what_was_said_last(log: Path, text: str, result: str) -> None:
    log.write_text(text, encoding="utf-8")
    assert last_phase(log) == result


def test_a_long_log_is_read_from_its_end(log: Path) -> None:
    """Where reading begins may be inside a character."""
    log.write_text("ɹ" * 99_999 + "\n" + "one\ntwo\nthree\n", encoding="utf-8")
    assert last_lines(log, 2) == ["two", "three"]


def test_a_log_that_is_no_text(log: Path) -> None:
    log.write_bytes(b"\xff\xfe\n")
    assert last_phase(log) == "��"
