"""Names the changed parts of a derivation: a file, a package, a field of a recipe."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from kokoro_tvm.builder.engine.code import path_of
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import Change

_DIGITS = 12  # of a SHA-256 that are shown
_DIGEST = re.compile(r'"([0-9a-f]{32}|[0-9a-f]{64})"')
_VERSIONS = {"project": "kokoro-tvm", "linker": "linker", "runner": "runner", "llvm": "llvm"}


@dataclass(frozen=True)
class Cause:
    """What changed.

    Attributes:
        kind: A `source` file, the `version` of a package, a recipe's `field`, an `input` that another stage
            wrote, the `machine`, or something else of the `build`.
        what: Its name.
        before: The value at the last build; "" if there was none.
        now: The value now; "" if there is none.
    """

    kind: str
    what: str
    before: str
    now: str

    @property
    def weight(self) -> int:
        """How likely the change is a consequence of others; code that ran for the first time most of all."""
        if not self.before or not self.now:
            return 3
        return {"input": 1, "build": 2}.get(self.kind, 0)

    def __str__(self) -> str:
        if not self.before or not self.now:
            return f"{self.what}: {'new' if self.now else 'gone'}, {self.now or self.before}"
        return f"{self.what}: {self.before} → {self.now}"


def find_cause(stage: Stage, change: Change) -> Cause:
    """Return what a change of the stage's derivation means to the user, with both values shortened."""
    kind, what = _name(stage, change.name)
    if change.name == "cpu.flags":
        return Cause(kind, what, *_compare_words(change))
    return Cause(kind, what, _shorten(change.old), _shorten(change.new))


def _name(stage: Stage, name: str) -> tuple[str, str]:
    """Return the kind of a part of the derivation, and its name for the user."""
    head, _, rest = name.partition(".")
    if head == "conversion":
        head, _, rest = rest.partition(".")
    if head == "code" and rest:
        module, _, part = rest.partition(":")
        path = path_of(module)
        is_package = path is not None and path.name == "__init__.py"
        file = f"{module.replace('.', '/')}{'/__init__' if is_package else ''}.py"
        return "source", f"{file}, {part or 'outside of functions'}"
    if head == "files" and rest:
        return "source", f"kokoro_tvm/{rest}"
    if head == "versions":
        return "version", rest
    if head == "schema":
        return "version", "the schema of keys"
    if head in _VERSIONS:
        return "version", _VERSIONS[head]
    if head == "cpu":
        return "machine", f"this machine's CPU, {rest}" if rest else "this machine's CPU"
    if head == "inputs" and rest in stage.inputs:
        before, file = stage.inputs[rest]
        return "input", f"{file} of {before.name}"
    if head == "schedule":
        return "field", f"schedules/: {_component(stage)}, {rest}"
    if head == "yields":
        return "field", _index(f"{stage.kind}.{rest}")
    if head == "gates":
        return "field", _index(name)
    if head == "parameters" and rest:
        return "field", _index(_field(stage, rest))
    return "build", name


def _field(stage: Stage, parameter: str) -> str:
    """Return the path of a stage's parameter in the recipe; most have the same name there."""
    head, _, rest = parameter.partition(".")
    if head == "patches":
        return f"components.{_component(stage)}.{parameter}"
    return rest if head == "recipe" else parameter


def _component(stage: Stage) -> str:
    return stage.name.split(".")[2].partition("-")[0]


def _index(name: str) -> str:
    """Write gates.x.0.y as gates.x[0].y."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", name)


def _shorten(value: str | None) -> str:
    """Return a JSON value as text: a digest's first digits, a string without its quotes."""
    if value is None:
        return ""
    if match := _DIGEST.fullmatch(value):
        return match[1][:_DIGITS]
    text = json.loads(value)
    return text if isinstance(text, str) and text else value


def _compare_words(change: Change) -> tuple[str, str]:
    """Return the words that only the old value has, and those that only the new value has."""
    old, new = (set(json.loads(value or '""').split()) for value in (change.old, change.new))
    removed, added = " ".join(sorted(old - new)), " ".join(sorted(new - old))
    return (f"-{removed}" if removed else "…"), (f"+{added}" if added else "…")
