"""Servers that fail to answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_stages import call_in

from kokoro_tvm.builder.engine.worker import WorkerError
from kokoro_tvm.common.errors import BundleError

READ = "read line; "


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        (f"{READ}kill -SEGV $$", "it was ended by signal SIGSEGV."),
        (f"{READ}kill -ILL $$", "it was ended by signal SIGILL, an instruction that this CPU lacks."),
        (f"{READ}exit 139", "it was ended by signal SIGSEGV."),
        (f"{READ}exit 3", "it ended with exit status 3."),
        (f"{READ}echo ok 1; echo 2 32 1 4; printf abc", "it ended with exit status 0."),
        (f"{READ}echo nonsense", "it ended with exit status 0."),
    ],
    ids=["signal", "instruction", "emulated", "status", "cut-short", "nonsense"],
)
def test_ended_server_is_reported_with_its_status(script: str, ending: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"stub 1\.0 could not run decoder") as caught:
        call_in(tmp_path, "call_server", script=script)
    assert ending in str(caught.value)
    assert caught.value.exit_code == 5


def test_hanging_server_is_reported_with_its_stage(tmp_path: Path) -> None:
    script = "sleep 1000"
    with pytest.raises(WorkerError, match=r"cpu\.stage: did not end within 5 s") as caught:
        call_in(tmp_path, "call_server", timeout_s=5, script=script)
    assert str(caught.value).endswith("stub 1.0 runs decoder")
    assert caught.value.exit_code == 3
