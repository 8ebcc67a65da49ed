"""What differs between two recipes or bundles: recipe, stages, toolchain, files, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.diagnostics.causes import cause
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import changes
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.runtime.bundle.provenance import read_provenance
from kokoro_tvm.validation.report.facts import worst

__all__ = ["Side", "ValueDifference", "diff"]

_NOT_OF_BUNDLES = ("name", "schedules")
_REPORTS = ("validation", "speech", "phonemes", "throughput", "intelligibility")
_OUTCOME = ("passed", "missed")  # the rest of a report says what was measured, and how


@dataclass(frozen=True)
class ValueDifference:
    """One value that is another: its name, and both ("" where there is none)."""

    what: str
    before: str
    now: str


@dataclass(frozen=True)
class Side:
    """A recipe or a bundle.

    recipe: the resolved one, or the part that a bundle's provenance has; stages: those of the recipe, by
    their name without the recipe's; bundle: its folder, None where it is not built.
    """

    name: str
    recipe: Mapping[str, Any]
    bundle: Path | None = None
    stages: Mapping[str, Stage] = field(default_factory=dict)

    @classmethod
    def of_recipe(cls, graph: RecipeGraph) -> Side:
        """A recipe of the project, with what is built of it."""
        owner = f"{graph.recipe.name}."
        stages = {stage.name.removeprefix(owner): stage for stage in graph.stages()}
        built = (graph.bundle_folder / "bundle.json").is_file()
        dump = graph.recipe.model_dump(mode="json")
        return cls(graph.recipe.name, dump, graph.bundle_folder if built else None, stages)

    @classmethod
    def of_bundle(cls, folder: Path) -> Side:
        """A bundle by itself, of whatever night. Raises BundleError."""
        path = folder / PROVENANCE
        if not path.is_file():
            raise BundleError(
                f"{path} cannot be read: there is none. Name a recipe, or the folder of a bundle."
            )
        return cls(str(folder), read_provenance(path).recipe, folder)

    def toolchain(self) -> dict[str, str]:
        """Packages and other programs that made the bundle, and their versions."""
        if self.bundle is None:
            return {}
        found = read_provenance(self.bundle / PROVENANCE)
        packages = {name: made for name, made in found.dependencies.items() if made.startswith("pkg:")}
        return {name: url.rpartition("@")[2] for name, url in packages.items()} | found.tools

    def files(self) -> dict[str, str]:
        """Files of the bundle: their size, and the beginning of their digest."""
        if self.bundle is None:
            return {}
        subjects = dict(read_provenance(self.bundle / PROVENANCE).subjects)
        del subjects["bundle.json"]  # which lists the others
        sizes = {name: (self.bundle / name).stat().st_size for name in subjects}
        return {name: f"{sizes[name]:,} bytes, {digest[:12]}" for name, digest in subjects.items()}

    def measured(self) -> dict[str, Any]:
        """What the reports beside the bundle say: the worst value of every gate, and all other numbers."""
        if self.bundle is None:
            return {}
        reports = (self.bundle.parent / ".build" / self.bundle.name).glob("*/*.json")
        return {path.parent.name: _measured(_json(path)) for path in sorted(reports) if path.stem in _REPORTS}


def diff(before: Side, now: Side) -> dict[str, list[ValueDifference]]:
    """Every difference, by section; an empty one is the same on both sides, or known of one alone. What was
    measured: gates' values, phonemes and speed."""
    both = before.recipe.keys() & now.recipe.keys() - {*_NOT_OF_BUNDLES}
    recipes = ({key: side.recipe[key] for key in both} for side in (before, now))
    return {
        "recipe": list(_differing(*recipes)),
        "stages": list(_stages(before, now)),
        "toolchain": list(_differing(before.toolchain(), now.toolchain())),
        "files": list(_differing(before.files(), now.files())),
        "measured": list(_differing(before.measured(), now.measured())),
    }


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[ValueDifference]:
    for change in changes(before, now):
        yield ValueDifference(change.name, _plain(change.old), _plain(change.new))


def _plain(value: str | None) -> str:
    return "" if value is None else value.strip('"')


def _stages(before: Side, now: Side) -> Iterator[ValueDifference]:
    """Why the key of a stage is another, and which stages only one side has. What is not built has no key."""
    if not (before.stages and now.stages):
        return
    for name in dict.fromkeys((*before.stages, *now.stages)):
        old, new = before.stages.get(name), now.stages.get(name)
        if old is None or new is None:
            yield ValueDifference(name, "a stage" if old else "", "a stage" if new else "")
            continue
        one, other = old.previous(), new.previous()
        if one is None or other is None or one.key == other.key:
            continue
        for change in changes(one.derivation, other.derivation):
            why = cause(new, change)
            yield ValueDifference(f"{name}: {why.what}", why.before, why.now)


def _measured(report: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in report.items() if name not in (*_OUTCOME, "utterances", "overall")}
    if not {"utterances", "overall"} <= report.keys():  # of a version that judged otherwise, or no verdicts
        return rest
    cells = worst(report)
    return {f"{cell.output} {cell.gate}".strip(): f"{cell.value} (limit {cell.limit})" for cell in cells}


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{path} cannot be read: {error}. Name a recipe, or the folder of a bundle."
        ) from error
