"""What a run of a stage used of this package: the functions that were executed and the files that were read.

A process records from its start on, so that its children, forked from it, know what was executed while
modules were imported. Python 3.12 reports every function once (sys.monitoring); before that, the profiler
counts the calls of all.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from kokoro_tvm.builder.engine.code import folder_of_package, has_no_say, module_of
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.loading import LOADED

__all__ = [
    "CodeTrace",
    "add",
    "begin",
    "count",
    "read_trace",
    "restart",
    "take",
    "unrecorded",
]

_TOOL = 4  # of sys.monitoring; the lower ones are a debugger's, a profiler's and a coverage's
_CODE = (".py", ".pyc")
_GLOBS = {
    "pathlib.Path.glob": "",
    "pathlib.Path.rglob": "**/",
}  # audit events, and what the pattern starts with


@dataclass(frozen=True)
class CodeTrace:
    """executed: functions ("module:Class.method") and modules that were loaded by name; imported: functions
    that imports executed before the run; files: paths in this package that were read, and "folder:pattern"
    for what was globbed."""

    executed: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        """Raises OSError where it cannot be written."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_trace(path: Path) -> CodeTrace:
    """What `CodeTrace.write` wrote. Raises BuildError where a process ended before it did."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return CodeTrace(**{name: tuple(values) for name, values in fields.items()})
    except (OSError, ValueError, TypeError) as error:
        raise BuildError(f"{path} does not say what a process used: {error}; run doit again") from error


class _Recording:
    """What was recorded so far in this process, and by children it has waited for."""

    def __init__(self) -> None:
        self.functions: set[str] = set()
        self.loaded: set[str] = set()
        self.files: set[str] = set()
        self.imported: set[str] = set()


_recording: _Recording | None = None


def begin() -> None:
    """Records from now on, to the end of the process."""
    global _recording
    if _recording is None:
        _recording = _Recording()
        sys.addaudithook(_audit)
        _recorder.start()


def restart() -> None:
    """What was executed so far counts as imported."""
    begin()
    assert _recording is not None
    _recorder.stop()
    _recording.imported = _functions()
    _recording.functions, _recording.loaded = set(), set()
    _recorder.clear()
    _recorder.start()


def take() -> CodeTrace:
    """What was recorded since `restart`; nothing is recorded after it."""
    if _recording is None:
        return CodeTrace()
    _recorder.stop()
    executed = _functions() | _recording.functions | _recording.loaded
    return CodeTrace(
        tuple(sorted(executed)), tuple(sorted(_recording.imported)), tuple(sorted(_recording.files))
    )


@contextmanager
def unrecorded() -> Iterator[None]:
    """What is executed inside does not count: its result is compared with one of the stage's inputs."""
    if _recording is None:
        yield
        return
    loaded, files = set(_recording.loaded), set(_recording.files)
    _recorder.stop()
    try:
        yield
    finally:
        _recording.loaded, _recording.files = loaded, files
        _recorder.start()


def add(trace: CodeTrace) -> None:
    """What a child used counts, too."""
    if _recording is not None:
        _recording.functions |= {*trace.executed}
        _recording.files |= {*trace.files}


def count(code: Mapping[str, str], files: Iterable[str] = ()) -> None:
    """What a kept result was made with counts as if it were made now: who takes it is made of that, too.

    code, files: as `kokoro_tvm.builder.engine.used.all_of` gives them.
    """
    add(CodeTrace(tuple(code), (), tuple(files)))


def _functions() -> set[str]:
    """The functions of this package among what was executed."""
    assert _recording is not None
    names = set()
    for code in _recorder.codes():
        module = module_of(code.co_filename)
        name = code.co_qualname.partition(".<locals>")[0]
        if module is not None and name != "<module>" and not has_no_say(module):
            names.add(module if "<" in name else f"{module}:{name}")  # lambdas of a module are part of it
    return names


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _recording is None:
        return
    if event == LOADED:
        _recording.loaded.add(arguments[0])
    elif event == "open":
        if isinstance(arguments[0], str | bytes | os.PathLike):  # else a descriptor
            path = _relative(os.fsdecode(arguments[0]))
            if path is not None and not path.endswith(_CODE) and "__pycache__" not in path:
                _recording.files.add(path)
    elif event in _GLOBS:
        folder, pattern = _relative(str(arguments[0])), f"{_GLOBS[event]}{arguments[1]}"
        # Modules count when they are loaded.
        if folder is not None and not pattern.endswith(_CODE):
            _recording.files.add(f"{folder}:{pattern}")


def _relative(path: str) -> str | None:
    """Return a path's place in this package; None if it lies elsewhere."""
    path, folder = os.path.abspath(path), f"{folder_of_package()}"  # noqa: PTH100  (of every file that is opened)
    if not f"{path}{os.sep}".startswith(f"{folder}{os.sep}"):
        return None
    return path[len(folder) + 1 :].replace(os.sep, "/")


class _Monitoring:
    """Every function is reported the first time it is called."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}

    def start(self) -> None:
        monitoring = sys.monitoring  # type: ignore[attr-defined]
        if monitoring.get_tool(_TOOL) is None:
            monitoring.use_tool_id(_TOOL, "kokoro-tvm")

            def called(code: CodeType, offset: int) -> Any:
                self._codes[id(code)] = code
                return monitoring.DISABLE

            monitoring.register_callback(_TOOL, monitoring.events.PY_START, called)
        monitoring.set_events(_TOOL, monitoring.events.PY_START)

    def stop(self) -> None:
        monitoring = sys.monitoring  # type: ignore[attr-defined]
        monitoring.set_events(_TOOL, 0)

    def clear(self) -> None:
        self._codes = {}
        sys.monitoring.restart_events()  # type: ignore[attr-defined]

    def codes(self) -> Iterable[CodeType]:
        return list(self._codes.values())


class _Profiling:
    """The profiler of every thread, which is written in C."""

    def __init__(self) -> None:
        self._profiles: list[Any] = []

    def start(self) -> None:
        threading.setprofile(self._started)
        self._profile()

    def _profile(self) -> None:
        import cProfile

        profile = cProfile.Profile(subcalls=False, builtins=False)
        self._profiles.append(profile)
        profile.enable()

    def _started(self, frame: Any, event: str, argument: Any) -> None:
        """The first call of a thread."""
        self._profile()

    def stop(self) -> None:
        threading.setprofile(None)
        if self._profiles:
            self._profiles[-1].disable()
        sys.setprofile(None)

    def clear(self) -> None:
        self._profiles = []

    def codes(self) -> Iterable[CodeType]:
        return [
            entry.code for p in self._profiles for entry in p.getstats() if isinstance(entry.code, CodeType)
        ]


_recorder: _Monitoring | _Profiling = _Monitoring() if sys.version_info >= (3, 12) else _Profiling()
