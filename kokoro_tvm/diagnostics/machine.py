"""Facts about this machine that a build depends on; doctor.py judges them."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from packaging.requirements import Requirement

from kokoro_tvm.cpu_features import features_of_cpu
from kokoro_tvm.diagnostics.hardware import describe_machine
from kokoro_tvm.diagnostics.needs import Need, Program, needs_of
from kokoro_tvm.diagnostics.sources import Reach, reach
from kokoro_tvm.engine.cache import Cache
from kokoro_tvm.engine.versions import PYTHON
from kokoro_tvm.errors import BuildError, InputError, RecipeError
from kokoro_tvm.model.front_end.sound_rules import sound_languages
from kokoro_tvm.packages import requirements
from kokoro_tvm.recipe import Recipe, list_recipes, load_recipe
from kokoro_tvm.runtime.bundle.voices import LANGUAGES
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES
from kokoro_tvm.runtime.text.frontend.packages import packages_of
from kokoro_tvm.targets import find_runner, tools_for
from kokoro_tvm.toolchains import Toolchain

__all__ = ["Facts", "Language", "Pin", "RecipeNeeds", "Tool", "gather"]

_PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
_PATIENCE = 120.0  # seconds the compiler may take to load


@dataclass(frozen=True)
class Pin:
    """A package and the versions the project takes; `extra`: the optional part that wants it, "" for all."""

    requirement: str
    installed: str | None
    extra: str = ""

    @property
    def name(self) -> str:
        return Requirement(self.requirement).name

    @property
    def is_met(self) -> bool:
        wanted = Requirement(self.requirement).specifier
        return self.installed is not None and wanted.contains(self.installed, prereleases=True)


@dataclass(frozen=True)
class RecipeNeeds:
    """The CPU features that what a recipe builds needs to run here; `problem`: why it cannot be built here,
    whatever programs there are; `elsewhere`: the emulator that runs it, or that nothing does, and why."""

    name: str
    features: tuple[str, ...] = ()
    problem: str | None = None
    elsewhere: str = ""


@dataclass(frozen=True)
class Tool:
    """A linker, runner or compiler that only some recipes need; found: its version, problem: why it is of
    no use."""

    about: str
    recipes: tuple[str, ...]
    found: str = ""
    problem: str | None = None


@dataclass(frozen=True)
class Language:
    """A language of the voices. speaker: what turns its text into phonemes; missing: the packages that this
    needs and that are not installed; remedy: what to do to have them."""

    name: str
    speaker: str
    missing: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True)
class Facts:
    """One machine. Sizes in bytes, None where the system does not say; a problem is None where there is none.

    languages: how each can be spoken here; cache: the shared one and what may be done with it, "" for none;
    checkpoints: model -> None where its weights were fetched, else its sources (see
    `kokoro_tvm.diagnostics.sources`).
    """

    python: str
    wanted_python: str
    pins: tuple[Pin, ...]
    compiler: str
    compiler_problem: str | None
    linker: str
    linker_problem: str | None
    machine: str
    cores: int
    features: frozenset[str] | None
    languages: tuple[Language, ...]
    recipes: tuple[RecipeNeeds, ...]
    memory: int | None
    artifacts: Path
    artifacts_problem: str | None
    disk: int
    cache: str
    cache_problem: str | None
    checkpoints: Mapping[str, Sequence[Reach] | None]
    tools: tuple[Tool, ...] = ()


def gather(root: Path) -> Facts:
    """Looks at everything; `root` holds recipes/ and artifacts/. Raises RecipeError without any recipe."""
    recipes, broken = _recipes(root / "recipes")
    compiler, compiler_problem, needs = _compiler(recipes)
    linker, linker_problem = _linkers([recipe for recipe in recipes if "ci" in recipe.sets])
    artifacts = root / "artifacts"
    cache, cache_problem = _cache()
    machine = describe_machine()
    return Facts(
        python=platform.python_version(),
        wanted_python=PYTHON,
        pins=_pins(),
        compiler=compiler,
        compiler_problem=compiler_problem,
        linker=linker,
        linker_problem=linker_problem,
        machine=machine.cpu,
        cores=machine.cores,
        features=features_of_cpu(),
        languages=_languages(recipes),
        recipes=tuple(sorted((*needs, *broken), key=lambda r: r.name)),
        memory=_available_memory(),
        artifacts=artifacts,
        artifacts_problem=_write_problem(artifacts),
        disk=shutil.disk_usage(_existing(artifacts)).free,
        cache=cache,
        cache_problem=cache_problem,
        checkpoints={
            model: _checkpoint(model, r, root) for model, r in {r.model: r for r in recipes}.items()
        },
        tools=_tools(recipes),
    )


def _recipes(folder: Path) -> tuple[list[Recipe], list[RecipeNeeds]]:
    good, broken = [], []
    for name in list_recipes(folder):
        try:
            good.append(load_recipe(name, folder))
        except RecipeError as error:
            broken.append(RecipeNeeds(name, problem=str(error)))
    return good, broken


def _pins() -> tuple[Pin, ...]:
    """The packages of pyproject.toml; without it, those the installed package names."""
    if _PYPROJECT.is_file():
        project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]
        found = [(r, "") for r in project["dependencies"]]
        found += [(r, extra) for extra, rs in project["optional-dependencies"].items() for r in rs]
        return tuple(_pin(*each) for each in found)
    return tuple(_pin(*each) for each in requirements())


def _pin(requirement: str, extra: str) -> Pin:
    """A pin; what every build needs has no extra, whether the runtime needs it or the build alone."""
    extra = "" if extra == "build" else extra
    try:
        installed = importlib.metadata.version(Requirement(requirement).name)
    except importlib.metadata.PackageNotFoundError:
        installed = None
    return Pin(requirement, installed, extra)


def _compiler(recipes: Sequence[Recipe]) -> tuple[str, str | None, list[RecipeNeeds]]:
    """TVM's version, why it does not load, and what each recipe needs."""
    request = {
        r.name: {"target": r.target.model_dump(mode="json"), "precision": r.precision} for r in recipes
    }
    command = [sys.executable, "-m", "kokoro_tvm.diagnostics.probe"]
    try:
        done = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except subprocess.TimeoutExpired:
        return _broken(f"did not load within {_PATIENCE:g} s", recipes)
    except subprocess.CalledProcessError as error:
        return _broken(f"does not load: {_why(error.returncode, error.stderr)}", recipes)
    result: dict[str, Any] = json.loads(done.stdout)
    needs = [
        RecipeNeeds(
            r.name, tuple(result["needs"].get(r.name, ())), result["problems"].get(r.name), _elsewhere(r)
        )
        for r in recipes
    ]
    return result["compiler"], None, needs


def _broken(problem: str, recipes: Sequence[Recipe]) -> tuple[str, str | None, list[RecipeNeeds]]:
    return "", problem, [RecipeNeeds(recipe.name, problem=f"TVM {problem}") for recipe in recipes]


def _languages(recipes: Sequence[Recipe]) -> tuple[Language, ...]:
    """How each language can be spoken; by the bundles what a recipe's front end has the rules of."""
    bundled = any(recipe.front_end is not None for recipe in recipes)
    found = []
    for code, name in LANGUAGES.items():
        if bundled and (code in "ab" or LANGUAGE_FILES[code] in sound_languages()):
            found.append(Language(name, "the front end of the bundle"))
        else:
            packages = packages_of(code)
            found.append(Language(name, packages.name, packages.missing, packages.remedy))
    return tuple(found)


def _linkers(recipes: Sequence[Recipe]) -> tuple[str, str | None]:
    """The linkers that the recipes need, and why one of them cannot link."""
    needed = {toolchain.command: toolchain for toolchain in map(_toolchain, recipes)}
    try:
        versions = [toolchain.version() for toolchain in needed.values()]
    except BuildError as error:
        return "", str(error)
    problems = [problem for toolchain in needed.values() if (problem := toolchain.check())]
    return ", ".join(versions), "; ".join(problems) or None


def _tools(recipes: Sequence[Recipe]) -> tuple[Tool, ...]:
    """What recipes need besides the linkers of the set `ci`: others, runners, compilers."""
    usual = {_toolchain(recipe) for recipe in recipes if "ci" in recipe.sets}
    found: dict[object, tuple[Need, list[str]]] = {}
    for recipe in recipes:
        for need in needs_of(recipe):
            if need.program not in usual:
                found.setdefault(need.identity, (need, []))[1].append(recipe.name)
    return tuple(_tool(need.about, need.program, names) for need, names in found.values())


def _tool(about: str, program: Program, recipes: Sequence[str]) -> Tool:
    problem = program.check()
    return Tool(about, tuple(recipes), "" if problem else program.version(), problem)


def _elsewhere(recipe: Recipe) -> str:
    """What runs a recipe's code other than this process, or why nothing does; empty where that does."""
    runner, reason = find_runner(recipe.target.model_dump(mode="json"))
    if runner is None:
        return f"is not run: {reason}"
    return f"runs {runner.way}" if runner.way else ""


def _toolchain(recipe: Recipe) -> Toolchain:
    return tools_for(recipe.target).toolchain()


def _why(status: int, stderr: str) -> str:
    """The last words of a program that failed, or how it ended."""
    if status < 0:
        return f"it was ended by signal {signal.Signals(-status).name}"
    return next(reversed(stderr.strip().splitlines()), f"exit status {status}")


def _available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    if not meminfo.is_file():
        return None
    sizes = dict(line.split(":") for line in meminfo.read_text(encoding="utf-8").splitlines())
    return int(sizes["MemAvailable"].split()[0]) * 1024


def _write_problem(folder: Path) -> str | None:
    """Why files cannot be written and locked, as the store does it, in a folder that is or would be there."""
    try:
        with tempfile.TemporaryDirectory(dir=_existing(folder), prefix=".doctor-") as place:
            FileLock(Path(place, "lock")).acquire(blocking=False).lock.release()
    except (OSError, Timeout) as error:
        return str(error)
    return None


def _checkpoint(model: str, recipe: Recipe, root: Path) -> list[Reach] | None:
    """None where the weights of a recipe's model were fetched; else how each of their sources can be had."""
    if (root / "artifacts" / "checkpoint" / model / "weights.safetensors").is_file():
        return None
    return reach(recipe.checkpoint, root)


def _cache() -> tuple[str, str | None]:
    """The shared cache that the environment names, and why it is of no use."""
    warnings: list[str] = []
    try:
        cache = Cache.from_environment(warnings.append)
    except InputError as error:
        return "", str(error)
    if cache is None:
        return "", None
    cache.try_out()
    problem = next(iter(warnings), None)
    signed = ", signed" if cache.is_signed else ""
    return f"{cache.url}, {cache.mode}{signed}", problem.removeprefix("note: ") if problem else None


def _existing(folder: Path) -> Path:
    """The folder, or what is above it and there."""
    return next(p for p in (folder.absolute(), *folder.absolute().parents) if p.is_dir())
