"""Trace of a stage: the functions of this package that it executed and the files that it read.

A process records from its start, so that workers, which are forked from it, know what imports executed.
Python 3.12 reports each function once (`sys.monitoring`); before that, a profiler counts all calls.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from kokoro_tvm.builder.engine.code import folder_of_package, is_ignored, module_of
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.loading import LOADED

_TOOL = 4  # of sys.monitoring; lower numbers belong to debuggers, profilers and coverage
_CODE_SUFFIXES = (".py", ".pyc")
# Audit events of globs, with the beginning of the pattern.
_GLOBS = {"pathlib.Path.glob": "", "pathlib.Path.rglob": "**/"}


@dataclass(frozen=True)
class CodeTrace:
    """What a run used of this package.

    Attributes:
        executed: Functions ("module:Class.method"), and modules that were loaded by name.
        imported: Functions that imports executed before the run.
        files: Paths of files that were read, and "folder:pattern" of globs.
    """

    executed: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        """Write the trace as JSON. Raises OSError if that fails."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_trace(path: Path) -> CodeTrace:
    """Read a trace. Raises BuildError if the process ended before it wrote one."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return CodeTrace(**{name: tuple(values) for name, values in fields.items()})
    except (OSError, ValueError, TypeError) as error:
        raise BuildError(f"{path} does not say what a process used: {error}; run doit again") from error


@dataclass
class _Recording:
    """What this process and its forked jobs used so far, besides what the recorder has."""

    executed: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)


_recording: _Recording | None = None


def begin() -> None:
    """Record until the end of the process."""
    global _recording
    if _recording is None:
        _recording = _Recording()
        sys.addaudithook(_audit)
        _recorder.start()


def restart() -> None:
    """Count what was executed so far as imported."""
    begin()
    assert _recording is not None
    _recorder.stop()
    _recording.imported, _recording.executed = _functions(), set()
    _recorder.clear()
    _recorder.start()


def take() -> CodeTrace:
    """Stop recording, and return the trace since `restart`; an empty one if nothing was recorded."""
    if _recording is None:
        return CodeTrace()
    _recorder.stop()
    parts = _functions() | _recording.executed, _recording.imported, _recording.files
    return CodeTrace(*(tuple(sorted(part)) for part in parts))


@contextmanager
def pause_recording() -> Iterator[None]:
    """Pause the recording, for code whose result is compared with an input of the stage."""
    if _recording is None:
        yield
        return
    executed, files = set(_recording.executed), set(_recording.files)
    _recorder.stop()
    try:
        yield
    finally:
        _recording.executed, _recording.files = executed, files
        _recorder.start()


def add(trace: CodeTrace) -> None:
    """Add the trace of a forked job."""
    if _recording is not None:
        _recording.executed |= {*trace.executed}
        _recording.files |= {*trace.files}


def count(code: Mapping[str, str], files: Iterable[str] = ()) -> None:
    """Add what a cached result was computed with: code and files, as in a derivation."""
    add(CodeTrace(tuple(code), (), tuple(files)))


def _functions() -> set[str]:
    """Return the names of the recorded functions of this package."""
    names = set()
    for code in _recorder.codes():
        module = module_of(code.co_filename)
        name = code.co_qualname.partition(".<locals>")[0]
        if module is not None and name != "<module>" and not is_ignored(module):
            names.add(module if "<" in name else f"{module}:{name}")  # lambdas of a module are part of it
    return names


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: record loaded code, and files and globs of this package that are opened."""
    if _recording is None:
        return
    if event == LOADED:
        _recording.executed.add(arguments[0])
    elif event == "open":
        if isinstance(arguments[0], str | bytes | os.PathLike):  # else a descriptor
            path = _relative_path(os.fsdecode(arguments[0]))
            if path is not None and not path.endswith(_CODE_SUFFIXES) and "__pycache__" not in path:
                _recording.files.add(path)
    elif event in _GLOBS:
        folder, pattern = _relative_path(str(arguments[0])), f"{_GLOBS[event]}{arguments[1]}"
        if folder is not None and not pattern.endswith(_CODE_SUFFIXES):  # modules count when they are loaded
            _recording.files.add(f"{folder}:{pattern}")


def _relative_path(path: str) -> str | None:
    """Return a path relative to this package; None if it lies elsewhere."""
    path, folder = os.path.abspath(path), f"{folder_of_package()}"  # noqa: PTH100  (of every file that is opened)
    if not f"{path}{os.sep}".startswith(f"{folder}{os.sep}"):
        return None
    return path[len(folder) + 1 :].replace(os.sep, "/")


class _Monitoring:
    """Recorder that is told of each function when it is called first."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}

    def start(self) -> None:
        """Record every function that starts from now on, in all threads."""
        monitoring = sys.monitoring  # type: ignore[attr-defined]
        if monitoring.get_tool(_TOOL) is None:
            monitoring.use_tool_id(_TOOL, "kokoro-tvm")
            monitoring.register_callback(_TOOL, monitoring.events.PY_START, self._note)
        monitoring.set_events(_TOOL, monitoring.events.PY_START)

    def _note(self, code: CodeType, offset: int) -> Any:
        """Record a function, and get no more events of it."""
        self._codes[id(code)] = code
        return sys.monitoring.DISABLE  # type: ignore[attr-defined]

    def stop(self) -> None:
        """Stop recording."""
        sys.monitoring.set_events(_TOOL, 0)  # type: ignore[attr-defined]

    def clear(self) -> None:
        """Forget what was recorded, and get events of all functions again."""
        self._codes = {}
        sys.monitoring.restart_events()  # type: ignore[attr-defined]

    def codes(self) -> Iterable[CodeType]:
        """Return the recorded functions."""
        return list(self._codes.values())


class _Profiling:
    """Recorder that runs a profiler, written in C, in every thread."""

    def __init__(self) -> None:
        self._profiles: list[Any] = []

    def start(self) -> None:
        """Record every function that starts from now on, in this thread and in new ones."""
        threading.setprofile(self._profile)
        self._profile()

    def _profile(self, *event: Any) -> None:
        """Start a profiler in this thread; also the hook of new threads."""
        import cProfile

        profile = cProfile.Profile(subcalls=False, builtins=False)
        self._profiles.append(profile)
        profile.enable()

    def stop(self) -> None:
        """Stop recording."""
        threading.setprofile(None)
        for profile in self._profiles:
            profile.disable()  # counts functions that have not returned
        sys.setprofile(None)

    def clear(self) -> None:
        """Forget what was recorded."""
        self._profiles = []

    def codes(self) -> Iterable[CodeType]:
        """Return the recorded functions."""
        entries = (entry.code for profile in self._profiles for entry in profile.getstats())
        return [code for code in entries if isinstance(code, CodeType)]


_recorder: _Monitoring | _Profiling = _Monitoring() if sys.version_info >= (3, 12) else _Profiling()
