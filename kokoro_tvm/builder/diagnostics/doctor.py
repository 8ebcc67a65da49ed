"""Looks whether this machine has what a build needs, and says what to do.

Every check is a pair: what the machine has, which is looked up, and a finding, which depends on nothing else.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rich.filesize import decimal

from kokoro_tvm.builder.diagnostics.hardware import describe_machine
from kokoro_tvm.builder.diagnostics.sources import Reach, reach
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.versions import PYTHON
from kokoro_tvm.builder.needs import Need, needs_of
from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.common.errors import BuildError, InputError, RecipeError
from kokoro_tvm.common.packages import requirements
from kokoro_tvm.common.words import shorten_path
from kokoro_tvm.model.front_end.sound_rules import sound_languages
from kokoro_tvm.native.toolchains import Toolchain
from kokoro_tvm.recipe import Recipe, list_recipes, load_recipe
from kokoro_tvm.runtime.bundle.voices import LANGUAGES
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES
from kokoro_tvm.runtime.text.frontend.packages import Packages, packages_of
from kokoro_tvm.targets import find_runner, tools_for

__all__ = ["Finding", "Pin", "Tool", "Verdict", "examine"]

Verdict = Literal["fine", "note", "wrong"]

# Measured on a build of the recipe `cpu` from nothing: 0.76 GB stay in artifacts/, as much again lies there
# while the weights are fetched; the stock model in float64 takes 3.3 GB for the longest utterance, 1.9 GB for
# those beside it, and compiling 1 GB.
BUILD_DISK = 1_500_000_000
BUILD_MEMORY = 6_500_000_000
# Of all CPU features, those that decide how fast speech is and which recipes run.
_SHOWN_FEATURES = (
    *("avx2", "fma", "avx512f", "avx512bf16", "amx-bf16"),
    *("neon", "dotprod", "i8mm", "bf16", "sve"),
)
_PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
_PATIENCE = 120.0  # seconds the compiler may take to load
_BUNDLED = Packages("the front end of the bundle", "", {})


@dataclass(frozen=True)
class Finding:
    """The result of one check. remedy: what to do if it is not fine. A note does not stop a build."""

    about: str
    verdict: Verdict
    message: str
    remedy: str | None = None


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
class Tool:
    """A linker, runner or compiler that only some recipes need; found: its version, problem: why it is of
    no use."""

    about: str
    recipes: tuple[str, ...]
    found: str = ""
    problem: str | None = None


def examine(root: Path) -> list[Finding]:
    """Every finding, in the order to fix them; `root` holds recipes/ and artifacts/.

    Raises RecipeError without any recipe.
    """
    recipes, broken = _recipes(root / "recipes")
    compiler, needs = _compiler(recipes)
    linker_problem, linker = _linkers([recipe for recipe in recipes if "ci" in recipe.sets])
    tools, features = _tools(recipes), features_of_cpu()
    machine, artifacts = describe_machine(), root / "artifacts"
    judged = {
        recipe.name: judge_recipe(
            recipe.name,
            needs.get(recipe.name, compiler.message),
            _missing(recipe.name, tools, linker_problem),
            _elsewhere(recipe),
            features,
        )
        for recipe in recipes
    }
    judged |= {name: judge_recipe(name, problem) for name, problem in broken.items()}
    return [
        judge_python(platform.python_version(), PYTHON),
        *judge_packages(_pins()),
        compiler,
        linker,
        *map(judge_tool, tools),
        judge_processor(machine.cpu, machine.cores, features),
        *judge_languages(_languages(recipes)),
        *(judged[name] for name in sorted(judged)),
        judge_memory(_available_memory()),
        *judge_disk(artifacts, shutil.disk_usage(_existing(artifacts)).free, _write_problem(artifacts)),
        judge_cache(*_cache()),
        *(
            judge_checkpoint(model, _checkpoint(model, recipe, root))
            for model, recipe in {recipe.model: recipe for recipe in recipes}.items()
        ),
    ]


def _recipes(folder: Path) -> tuple[list[Recipe], dict[str, str]]:
    """The recipes of a folder, and by name what is wrong with the others."""
    good, broken = [], {}
    for name in list_recipes(folder):
        try:
            good.append(load_recipe(name, folder))
        except RecipeError as error:
            broken[name] = str(error)
    return good, broken


def judge_python(version: str, wanted: str) -> Finding:
    text = f"{version} (wanted {wanted})"
    if SpecifierSet(wanted).contains(version):
        return Finding("Python", "fine", text)
    return Finding("Python", "wrong", text, "create the environment again: python3.12 -m venv .venv")


def _pins() -> tuple[Pin, ...]:
    """The packages of pyproject.toml; without it, those the installed package names."""
    if not _PYPROJECT.is_file():
        return tuple(_pin(*each) for each in requirements())
    project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]
    found = [(r, "") for r in project["dependencies"]]
    found += [(r, extra) for extra, rs in project["optional-dependencies"].items() for r in rs]
    return tuple(_pin(*each) for each in found)


def _pin(requirement: str, extra: str) -> Pin:
    """A pin; what every build needs has no extra, whether the runtime needs it or the build alone."""
    try:
        installed = importlib.metadata.version(Requirement(requirement).name)
    except importlib.metadata.PackageNotFoundError:
        installed = None
    return Pin(requirement, installed, "" if extra == "build" else extra)


def judge_packages(pins: Sequence[Pin]) -> Iterator[Finding]:
    """One finding for the packages that every build needs, and one for each extra."""
    for extra in dict.fromkeys(pin.extra for pin in pins):
        mine = [pin for pin in pins if pin.extra == extra]
        missing = [pin for pin in mine if pin.installed is None]
        other = [pin for pin in mine if pin.installed is not None and not pin.is_met]
        text = [f"{p.name} is {p.installed}, not {p.requirement.partition('==')[2]}" for p in other]
        text += [f"{p.name} is not installed" for p in missing]
        about = f"packages [{extra}]" if extra else "packages"
        if not text:
            yield Finding(about, "fine", f"all {len(mine)} as pinned")
            continue
        what = f".[{extra or 'build'}]"
        remedy = f"{_python_here()} -m pip install -e {shlex.quote(what)}"
        if extra and len(missing) == len(mine):
            text = ["not installed; only this extra needs them"]
        yield Finding(about, "note" if extra else "wrong", "; ".join(text), remedy)


def _compiler(recipes: Sequence[Recipe]) -> tuple[Finding, dict[str, str | list[str]]]:
    """Whether TVM loads; and of each recipe the CPU features that what it builds needs, or why it cannot be
    built, where it does."""
    request = {
        r.name: {"target": r.target.model_dump(mode="json"), "precision": r.precision} for r in recipes
    }
    command = [sys.executable, "-m", "kokoro_tvm.builder.diagnostics.probe"]
    try:
        done = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except subprocess.TimeoutExpired:
        return judge_compiler("", f"did not load within {_PATIENCE:g} s"), {}
    except subprocess.CalledProcessError as error:
        return judge_compiler("", f"does not load: {_why(error.returncode, error.stderr)}"), {}
    result: dict[str, Any] = json.loads(done.stdout)
    return judge_compiler(result["compiler"], None), result["needs"] | result["problems"]


def _why(status: int, stderr: str) -> str:
    """The last words of a program that failed, or how it ended."""
    if status < 0:
        return f"it was ended by signal {signal.Signals(-status).name}"
    return next(reversed(stderr.strip().splitlines()), f"exit status {status}")


def judge_compiler(version: str, problem: str | None) -> Finding:
    if problem is None:
        return Finding("compiler", "fine", version)
    return Finding("compiler", "wrong", f"TVM {problem}", f"see why: {_python_here()} -c 'import tvm'")


def _linkers(recipes: Sequence[Recipe]) -> tuple[str | None, Finding]:
    """Why one of the linkers that the recipes need cannot link, and the finding about all of them."""
    needed = {toolchain.command: toolchain for toolchain in map(_toolchain, recipes)}
    try:
        versions = [toolchain.version() for toolchain in needed.values()]
    except BuildError as error:
        return str(error), judge_linker("", str(error))
    problems = [problem for toolchain in needed.values() if (problem := toolchain.check())]
    problem = "; ".join(problems) or None
    return problem, judge_linker(", ".join(versions), problem)


def judge_linker(version: str, problem: str | None) -> Finding:
    if problem is None:
        return Finding("linker", "fine", version)
    return Finding("linker", "wrong", problem, "Debian: apt-get install g++")


def _tools(recipes: Sequence[Recipe]) -> list[Tool]:
    """What recipes need besides the linkers of the set `ci`: others, runners, compilers."""
    usual = {_toolchain(recipe) for recipe in recipes if "ci" in recipe.sets}
    found: dict[object, tuple[Need, list[str]]] = {}
    for recipe in recipes:
        for need in needs_of(recipe):
            if need.program not in usual:
                found.setdefault(need.identity, (need, []))[1].append(recipe.name)
    tools = []
    for need, names in found.values():
        problem = need.program.check()
        tools.append(Tool(need.about, tuple(names), "" if problem else need.program.version(), problem))
    return tools


def _toolchain(recipe: Recipe) -> Toolchain:
    return tools_for(recipe.target).toolchain()


def judge_tool(tool: Tool) -> Finding:
    names = ", ".join(tool.recipes)
    if tool.problem is None:
        return Finding(tool.about, "fine", f"{tool.found}, for {names}")
    return Finding(tool.about, "note", f"{tool.problem} For {names}")


def judge_processor(name: str, count: int, features: frozenset[str] | None) -> Finding:
    cores = "1 core" if count == 1 else f"{count} cores"
    text = f"{name}, {cores} to use"
    if features is None:
        unknown = "its features are unknown, because only Linux lists them"
        return Finding("processor", "note", f"{text}; {unknown}")
    had = [feature for feature in _SHOWN_FEATURES if feature in features]
    return Finding("processor", "fine", f"{text}, {', '.join(had) or 'no vector features'}")


def _languages(recipes: Sequence[Recipe]) -> dict[str, Packages]:
    """What speaks each language of the voices; the bundles what a recipe's front end has the rules of."""
    bundled = any(recipe.front_end is not None for recipe in recipes)
    return {
        name: _BUNDLED
        if bundled and (code in "ab" or LANGUAGE_FILES[code] in sound_languages())
        else packages_of(code)
        for code, name in LANGUAGES.items()
    }


def judge_languages(languages: dict[str, Packages]) -> Iterator[Finding]:
    """One finding for the languages that the same packages speak."""
    for speaker in {packages.name: packages for packages in languages.values()}.values():
        names = ", ".join(name for name, packages in languages.items() if packages.name == speaker.name)
        if speaker.missing:
            lacking = ", ".join(speaker.missing)
            text = f"cannot be spoken, because {speaker.name} is missing ({lacking}): {names}"
            yield Finding("languages", "note", text, speaker.remedy)
        else:
            yield Finding("languages", "fine", f"by {speaker.name}: {names}")


def judge_recipe(
    name: str,
    needs: str | Sequence[str],
    missing: Sequence[str] = (),
    elsewhere: str = "",
    features: frozenset[str] | None = None,
) -> Finding:
    """needs: the CPU features that what the recipe builds needs to run, or why it cannot be built here,
    whatever programs there are; missing: those that do not work; elsewhere: the emulator that runs its code,
    or that nothing does, and why; features: this CPU's, None where they are unknown."""
    about = f"recipe {name}"
    if isinstance(needs, str):
        return Finding(about, "note", f"cannot be built here: {needs}")
    if missing:
        text = f"cannot be built here, for want of its {' and its '.join(missing)}: see above"
        return Finding(about, "note", text)
    if elsewhere:
        return Finding(about, "fine", f"can be built here and {elsewhere}")
    if features is None:
        return Finding(about, "note", "can be built here; whether it runs is unknown")
    if lacking := [feature for feature in needs if feature not in features]:
        text = f"can be built here, but not run: this processor has no {', '.join(lacking)}"
        return Finding(about, "note", text)
    return Finding(about, "fine", "can be built here and runs here")


def _missing(recipe: str, tools: Sequence[Tool], linker_problem: str | None) -> list[str]:
    """What of the programs that the recipe's stages call does not work."""
    own = [tool for tool in tools if recipe in tool.recipes]
    missing = [tool.about for tool in own if tool.problem is not None]
    if linker_problem is not None and all(tool.about != "linker" for tool in own):
        missing.insert(0, "linker")
    return missing


def _elsewhere(recipe: Recipe) -> str:
    """What runs a recipe's code other than this process, or why nothing does; empty where that does."""
    runner, reason = find_runner(recipe.target.model_dump(mode="json"))
    if runner is None:
        return f"is not run: {reason}"
    return f"runs {runner.way}" if runner.way else ""


def _available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    if not meminfo.is_file():
        return None
    sizes = dict(line.split(":") for line in meminfo.read_text(encoding="utf-8").splitlines())
    return int(sizes["MemAvailable"].split()[0]) * 1024


def judge_memory(free: int | None) -> Finding:
    if free is None:
        return Finding("memory", "note", "how much is free is unknown, because only Linux reports it")
    text = f"{decimal(free)} free; a build takes up to {decimal(BUILD_MEMORY)}"
    if free >= BUILD_MEMORY:
        return Finding("memory", "fine", text)
    return Finding("memory", "wrong", text, "close other programs, or add swap")


def _write_problem(folder: Path) -> str | None:
    """Why files cannot be written and locked, as the store does it, in a folder that is or would be there."""
    try:
        with tempfile.TemporaryDirectory(dir=_existing(folder), prefix=".doctor-") as place:
            FileLock(Path(place, "lock")).acquire(blocking=False).lock.release()
    except (OSError, Timeout) as error:
        return str(error)
    return None


def _existing(folder: Path) -> Path:
    """The folder, or what is above it and there."""
    return next(p for p in (folder.absolute(), *folder.absolute().parents) if p.is_dir())


def judge_disk(artifacts: Path, free: int, problem: str | None) -> Iterator[Finding]:
    """problem: why nothing can be written to the folder of artifacts."""
    if problem is not None:
        text = f"{artifacts} cannot be written: {problem}"
        yield Finding("artifacts", "wrong", text, "make it writable, or build elsewhere with --root")
    text = f"{decimal(free)} free below {artifacts}; a build takes {decimal(BUILD_DISK)}"
    if free >= BUILD_DISK:
        yield Finding("disk", "fine", text)
    else:
        remedy = "free some space: kokoro-tvm gc --keep 1, or delete artifacts/peers"
        yield Finding("disk", "wrong", text, remedy)


def _cache() -> tuple[str, str | None]:
    """The shared cache that the environment names and what may be done with it, "" for none; and why it is of
    no use."""
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


def judge_cache(cache: str, problem: str | None) -> Finding:
    if problem is not None:
        # A wrong setting fails a build; a cache that fails is not used.
        verdict: Verdict = "note" if cache else "wrong"
        return Finding("cache", verdict, problem, "correct KOKORO_TVM_CACHE, or unset it")
    return Finding("cache", "fine", cache or "no shared cache (set KOKORO_TVM_CACHE to use one)")


def _checkpoint(model: str, recipe: Recipe, root: Path) -> list[Reach] | None:
    """None where the weights of a recipe's model were fetched; else how each of their sources can be had."""
    if (root / "artifacts" / "checkpoint" / model / "weights.safetensors").is_file():
        return None
    return reach(recipe.checkpoint, root)


def judge_checkpoint(model: str, sources: Sequence[Reach] | None) -> Finding:
    about = f"model {model}"
    if sources is None:
        return Finding(about, "fine", "its weights are fetched")
    answering = next((s.source for s in sources if s.problem is None), None)
    failing = "; ".join(f"{s.source}: {s.problem}" for s in sources if s.problem is not None)
    if answering is not None:
        text = f"its weights are not fetched yet; the first build fetches them from {answering}"
        return Finding(about, "fine", f"{text} ({failing})" if failing else text)
    text = f"its weights are not fetched yet, and none of their sources can be reached ({failing})"
    return Finding(about, "note", text, "connect to the network, or see docs/troubleshooting.md")


def _python_here() -> Path:
    return shorten_path(Path(sys.executable))
