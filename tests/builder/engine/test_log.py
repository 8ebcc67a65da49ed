"""The last lines of logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.builder.engine.reporter import last_lines, last_phase


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "stage.log"


def test_last_lines_without_a_log_is_empty(log: Path) -> None:
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
def test_last_phase_is_the_last_line(log: Path, text: str, result: str) -> None:
    log.write_text(text, encoding="utf-8")
    assert last_phase(log) == result


def test_last_lines_reads_the_end_of_a_long_log(log: Path) -> None:
    """Reading may start inside a character."""
    log.write_text("ɹ" * 99_999 + "\n" + "one\ntwo\nthree\n", encoding="utf-8")
    assert last_lines(log, 2) == ["two", "three"]


def test_last_phase_replaces_invalid_bytes(log: Path) -> None:
    log.write_bytes(b"\xff\xfe\n")
    assert last_phase(log) == "��"
