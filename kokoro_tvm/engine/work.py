"""What the child process of a stage does: it calls the stage's function with its inputs, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from kokoro_tvm.engine import trace as recording
from kokoro_tvm.engine.durable import storing
from kokoro_tvm.engine.inputs import Inputs, only

__all__ = ["work"]


def work(
    function: str,
    inputs: Mapping[str, tuple[str, str]],
    out: str,
    root: str,
    cache: str | None,
    arguments: Mapping[str, Any],
    trace: str,
) -> None:
    """Calls `function` ("module:name") with the folder to write to, the inputs and the arguments.

    root: the folder of which it may open its inputs alone; cache: a folder below it that the stage may use
    as it likes, passed on as `cache` where there is one. trace: the file that says what the function used,
    failed or not.
    """
    name, _, attribute = function.partition(":")
    call = getattr(import_module(name), attribute)
    given = Inputs(inputs)
    folders = [Path(out), *([Path(cache)] if cache else [])]
    recording.restart()
    try:
        with only(Path(root), given, *folders):
            call(Path(out), given, **arguments, **({"cache": Path(cache)} if cache else {}))
    finally:
        with storing(Path(trace)):
            recording.take().write(Path(trace))
