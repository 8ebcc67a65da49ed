"""Events as JSON lines."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kokoro_tvm.builder.engine.events import EventLog
from kokoro_tvm.common.errors import BuildError


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_write_omits_fields_that_are_none(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    EventLog(tmp_path / "there" / "events.jsonl").write(
        "done", stage="cpu.speak", seconds=0.0, bytes=0, log=None
    )
    (result,) = read(tmp_path / "there" / "events.jsonl")
    assert {k: v for k, v in result.items() if k != "time"} == {
        "pid": os.getpid(),
        "event": "done",
        "stage": "cpu.speak",
        "seconds": 0.0,
        "bytes": 0,
    }
    assert str(result["time"]).endswith("Z")
    assert abs((datetime.fromisoformat(str(result["time"])) - before).total_seconds()) < 60


def test_write_keeps_a_message_on_one_line(tmp_path: Path) -> None:
    EventLog(tmp_path / "e").write("failed", message="one\ntwo ɹ\u2028three")
    assert [e["message"] for e in read_bytes_lines(tmp_path / "e")] == ["one\ntwo ɹ\u2028three"]


def read_bytes_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_write_is_safe_for_threads_and_processes(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    logs = [EventLog(path), EventLog(path)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: logs[n % 2].write("phase", stage=f"cpu.{n}", message="x" * 500), range(400)))
    assert {e["stage"] for e in read(path)} == {f"cpu.{n}" for n in range(400)}


def test_event_log_rejects_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"cannot be written to .*: Is a directory; name a file"):
        EventLog(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_write_reports_a_full_disk() -> None:
    log = EventLog(Path("/dev/full"))
    with pytest.raises(BuildError, match="No space left on device"):
        log.write("begin")
