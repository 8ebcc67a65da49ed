"""Reports about a Dask cluster that lacks workers, or loses one or its scheduler."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from dask_processes import end, start_worker, started, until

from kokoro_tvm.common import scheduler
from kokoro_tvm.common.errors import BuildError

pytestmark = pytest.mark.slow("starts a scheduler and a worker of Dask")


def test_completed_reports_missing_and_lost_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="distributed comes with the extra [dask]")
    monkeypatch.setattr(scheduler, "_CONNECT_TIMEOUT_S", 3.0)
    notes: list[str] = []
    with started({}) as start:
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        words = ("-m", "distributed.cli.dask_scheduler", *options)
        process = start(tmp_path / "scheduler", *words)
        output = tmp_path / "scheduler/output.txt"
        until(lambda: "tcp://127.0.0.1:" in output.read_text(), process)
        address = "tcp://127.0.0.1:" + output.read_text().split("tcp://127.0.0.1:")[1].split()[0]
        client = scheduler.connect(address)
        workers = []

        def notify(note: str) -> None:
            """Start a worker when one is missing, then end it, then end the scheduler."""
            notes.append(note)
            if note.startswith("waiting") and not workers:
                workers.append(start_worker(start, tmp_path / "worker", address))
            elif note.startswith("waiting"):
                end(process)

        try:
            # The first takes long enough for a look at the workers meanwhile.
            first, second = (client.submit(time.sleep, s, pure=False) for s in (4, 60))
            results = scheduler.completed(client, address, [first, second], notify)
            assert next(results).status == "finished"
            end(workers[0])
            with pytest.raises(BuildError, match=f"the scheduler {address} no longer answers; start it"):
                next(results)
        finally:
            client.close(timeout=1)
    waiting = f"waiting for workers: start one with `dask worker {address} --nthreads 1`"
    assert notes[0] == notes[2] == waiting
    assert "was lost; another one begins again" in notes[1]
