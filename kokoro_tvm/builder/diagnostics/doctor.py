"""Checks whether this machine has what a build needs, and says what to do about what is missing."""

from __future__ import annotations

import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rich.filesize import decimal

from kokoro_tvm.builder.diagnostics.hardware import MachineInfo, describe_machine
from kokoro_tvm.builder.diagnostics.sources import check_sources
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.versions import PYTHON, find_version
from kokoro_tvm.builder.needs import Need, needs_of
from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.common.errors import InputError, KokoroTvmError, RecipeError
from kokoro_tvm.common.packages import requirements
from kokoro_tvm.common.words import shorten_path
from kokoro_tvm.model.front_end.sound_rules import list_sound_languages
from kokoro_tvm.recipe import Recipe, list_recipes, load_recipe
from kokoro_tvm.runtime.bundle.voices import LANGUAGES
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES
from kokoro_tvm.runtime.text.frontend.packages import LanguagePackages, find_packages
from kokoro_tvm.targets import find_runner, resolve

Verdict = Literal["fine", "note", "wrong"]

# Measured on a build of the recipe `cpu` from nothing: artifacts/ takes 0.76 GB, and as much again while the
# weights are fetched; the stock model in float64 takes 3.3 GB for the longest utterance, 1.9 GB for those
# that run beside it, and compiling 1 GB.
BUILD_DISK = 1_500_000_000
BUILD_MEMORY = 6_500_000_000
# The CPU features that decide how fast speech is and which recipes run.
_SHOWN_FEATURES = (
    *("avx2", "fma", "avx512f", "avx512bf16", "amx-bf16"),
    *("neon", "dotprod", "i8mm", "bf16", "sve"),
)
_PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
_IMPORT_TVM = (
    "import tvm; from tvm.target import codegen; "
    "print(f'TVM {tvm.__version__} with LLVM {codegen.llvm_version_major()}')"
)
_IMPORT_TIMEOUT_S = 120.0
_BUNDLED = LanguagePackages("the front end of the bundle", "", {})


@dataclass(frozen=True)
class Finding:
    """The result of one check. A note does not stop a build; `remedy` says what to do."""

    about: str
    verdict: Verdict
    message: str
    remedy: str | None = None


def examine(root: Path, names: Sequence[str] | None = None) -> list[Finding]:
    """Run every check, in the order in which to fix what is wrong.

    Args:
        root: The folder with `recipes/` and `artifacts/`.
        names: The recipes to build; then checks that these do not need are left out. None: all.

    Raises:
        RecipeError: There is no recipe, or one of `names` cannot be read.
    """
    folder = root / "recipes"
    recipes, broken = (
        _load_recipes(folder) if names is None else ([load_recipe(n, folder) for n in names], {})
    )
    pins = [(pin, extra) for pin, extra in _pins() if names is None or not extra]
    with ThreadPoolExecutor() as threads:  # most checks wait for programs, and TVM takes a second to import
        loading = threads.submit(check_compiler)
        programs: dict[object, tuple[Need, list[Recipe]]] = {}
        for recipe in recipes:
            for need in needs_of(recipe):
                programs.setdefault(need.identity, (need, []))[1].append(recipe)
        running = {identity: threads.submit(need.program.check) for identity, (need, _) in programs.items()}
        fetching = {
            model: threads.submit(_unfetched, model, recipe, root)
            for model, recipe in {recipe.model: recipe for recipe in recipes}.items()
        }
        packages = list(check_packages(pins))
        languages = list(check_languages(_languages(recipes))) if names is None else []
    compiler = loading.result()
    problems = {identity: check.result() for identity, check in running.items()}
    obstacles = {recipe.name: "" if compiler.verdict == "fine" else compiler.message for recipe in recipes}
    for recipe in recipes:
        own = [need for need, users in programs.values() if recipe in users]
        if missing := [need.about for need in own if problems[need.identity]]:
            obstacles[recipe.name] = f"{', '.join(missing)} missing"
    machine, features, artifacts = describe_machine(), features_of_cpu(), root / "artifacts"
    lack: Verdict = "note" if names is None else "wrong"
    verdicts = [check_recipe(recipe, obstacles[recipe.name], features, lack) for recipe in recipes]
    verdicts += [Finding(f"recipe {name}", lack, f"cannot be built: {e}") for name, e in broken.items()]
    return [
        check_python(platform.python_version()),
        *packages,
        compiler,
        *check_programs([(need, users, problems[i]) for i, (need, users) in programs.items()], names or ()),
        check_processor(machine, features),
        *languages,
        check_memory(_available_memory()),
        *check_disk(artifacts),
        check_cache(),
        *(check_checkpoint(model, sources.result()) for model, sources in fetching.items()),
        *sorted(verdicts, key=lambda finding: finding.about),
    ]


def _load_recipes(folder: Path) -> tuple[list[Recipe], dict[str, str]]:
    """Return the valid recipes of a folder, and the error of each other one by name."""
    recipes, broken = [], {}
    for name in list_recipes(folder):
        try:
            recipes.append(load_recipe(name, folder))
        except RecipeError as error:
            broken[name] = str(error)
    return recipes, broken


def _judge(about: str, is_met: bool, message: str, remedy: str) -> Finding:
    """Return a finding that is wrong unless the requirement is met."""
    return Finding(about, "fine", message) if is_met else Finding(about, "wrong", message, remedy)


def check_python(version: str) -> Finding:
    """Check the version of Python."""
    is_met = SpecifierSet(PYTHON).contains(version)
    remedy = "create the environment again: python3.12 -m venv .venv"
    return _judge("Python", is_met, f"{version} (needed: {PYTHON})", remedy)


def _pins() -> list[tuple[str, str]]:
    """Return (requirement, extra) of pyproject.toml, else of the installed metadata; "" for every build."""
    pins = requirements()
    if _PYPROJECT.is_file():  # an editable installation has the metadata of the day it was made
        project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]
        extras = {"": project["dependencies"], **project["optional-dependencies"]}
        pins = [(requirement, extra) for extra, own in extras.items() for requirement in own]
    return [(requirement, "" if extra == "build" else extra) for requirement, extra in pins]


def check_packages(pins: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Compare the installed packages with the pins: one finding for every build, one for each extra."""
    for extra in dict.fromkeys(extra for _, extra in pins):
        own = [Requirement(requirement) for requirement, of in pins if of == extra]
        versions = {requirement.name: find_version(requirement.name) for requirement in own}
        problems = [
            f"{pin.name} is {versions[pin.name]}, not {str(pin.specifier).removeprefix('==')}"
            for pin in own
            if (version := versions[pin.name]) and not pin.specifier.contains(version, prereleases=True)
        ]
        problems += [f"{name} is not installed" for name, version in versions.items() if version is None]
        about = f"packages [{extra}]" if extra else "packages"
        if not problems:
            yield Finding(about, "fine", f"all {len(own)} as pinned")
            continue
        if extra and not any(versions.values()):
            problems = ["not installed; only this extra needs them"]
        part = shlex.quote(f".[{extra or 'build'}]")
        remedy = f"{_python()} -m pip install -e {part}"
        yield Finding(about, "note" if extra else "wrong", "; ".join(problems), remedy)


def check_compiler() -> Finding:
    """Import TVM in a process of its own, because that may crash or hang, and report its version."""
    command = [sys.executable, "-c", _IMPORT_TVM]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_TIMEOUT_S, check=True)
        return Finding("compiler", "fine", done.stdout.strip())
    except subprocess.TimeoutExpired:
        problem = f"did not load within {_IMPORT_TIMEOUT_S:g} s"
    except subprocess.CalledProcessError as error:
        reason = next(reversed(error.stderr.strip().splitlines()), f"exit status {error.returncode}")
        if error.returncode < 0:
            reason = f"signal {signal.Signals(-error.returncode).name} ended it"
        problem = f"does not load: {reason}"
    return Finding("compiler", "wrong", f"TVM {problem}", f"see why: {_python()} -c 'import tvm'")


def check_programs(
    programs: Sequence[tuple[Need, Sequence[Recipe], str | None]], names: Collection[str]
) -> Iterator[Finding]:
    """Report linkers, compilers and runners; a missing one is reported once, however many needs it has.

    It is wrong if a recipe among `names`, or one of the set `ci`, needs it.
    """
    groups: dict[str | tuple[str, str], list[tuple[Need, Sequence[Recipe]]]] = {}
    for need, recipes, problem in programs:
        key = (need.about, need.program.version()) if problem is None else problem
        groups.setdefault(key, []).append((need, recipes))
    for key, group in groups.items():
        users = {recipe.name: recipe for _, recipes in group for recipe in recipes}
        about = ", ".join(dict.fromkeys(need.about for need, _ in group))
        listed = "" if names else f", for {', '.join(users)}"
        if isinstance(key, tuple):
            yield Finding(about, "fine", f"{key[1]}{listed}")
            continue
        is_wanted = any(name in names or "ci" in recipe.sets for name, recipe in users.items())
        message, colon, install = key.removesuffix(".").partition(": apt-get ")
        packages = " ".join(group[0][0].program.packages)
        remedy = f"apt-get {install}" if colon else f"apt-get install {packages}" if packages else None
        yield Finding(about, "wrong" if is_wanted else "note", f"{message}{listed}", remedy)


def check_processor(machine: MachineInfo, features: frozenset[str] | None) -> Finding:
    """Report the CPU and its vector features; None: unknown."""
    text = f"{machine.cpu}, {'1 core' if machine.cores == 1 else f'{machine.cores} cores'} to use"
    if features is None:
        return Finding(
            "processor", "note", f"{text}; its features are unknown, because only Linux lists them"
        )
    shown = ", ".join(feature for feature in _SHOWN_FEATURES if feature in features)
    return Finding("processor", "fine", f"{text}, {shown or 'no vector features'}")


def _languages(recipes: Sequence[Recipe]) -> dict[str, LanguagePackages]:
    """Return the packages that speak each language: the bundle's, if a recipe's front end has its rules."""
    has_front_end = any(recipe.front_end is not None for recipe in recipes)
    with_rules = {*"ab", *(code for code in LANGUAGES if LANGUAGE_FILES[code] in list_sound_languages())}
    return {
        name: _BUNDLED if has_front_end and code in with_rules else find_packages(code)
        for code, name in LANGUAGES.items()
    }


def check_languages(languages: Mapping[str, LanguagePackages]) -> Iterator[Finding]:
    """Report the languages that can be spoken: one finding for all that the same packages speak."""
    for speaker in {packages.name: packages for packages in languages.values()}.values():
        names = ", ".join(name for name, packages in languages.items() if packages.name == speaker.name)
        if speaker.missing:
            text = f"cannot be spoken without {speaker.name} ({', '.join(speaker.missing)}): {names}"
            yield Finding("languages", "note", text, speaker.remedy)
        else:
            yield Finding("languages", "fine", f"by {speaker.name}: {names}")


def check_recipe(
    recipe: Recipe, obstacle: str, features: frozenset[str] | None, lack: Verdict = "note"
) -> Finding:
    """Report whether a recipe can be built here, and whether its code runs here.

    Args:
        recipe: The recipe.
        obstacle: Why it cannot be built, or "".
        features: Features of this CPU; None: unknown.
        lack: The verdict if it cannot be built.
    """
    about = f"recipe {recipe.name}"
    # Code for this machine's own CPU runs here, and to resolve a target imports TVM, for a second.
    is_native = getattr(recipe.target, "mcpu", "") == "native"
    try:
        needed = () if obstacle or is_native else resolve(recipe.target, recipe.precision).required
    except KokoroTvmError as error:
        obstacle = str(error)
    if obstacle:
        return Finding(about, lack, f"cannot be built here: {obstacle}")
    runner, reason = find_runner(recipe.target.model_dump(mode="json"))
    if runner is None:
        return Finding(about, "fine", f"can be built here and is not run: {reason}")
    if runner.way:
        return Finding(about, "fine", f"can be built here and runs {runner.way}")
    if features is None:
        return Finding(about, "note", "can be built here; whether it runs is unknown")
    if lacking := [feature for feature in needed if feature not in features]:
        text = f"can be built here, but not run: this processor has no {', '.join(lacking)}"
        return Finding(about, "note", text)
    return Finding(about, "fine", "can be built and run here")


def _available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Return the bytes that processes can take without swapping; None beyond Linux."""
    if not meminfo.is_file():
        return None
    sizes = dict(line.split(":") for line in meminfo.read_text(encoding="utf-8").splitlines())
    return int(sizes["MemAvailable"].split()[0]) * 1024


def check_memory(free: int | None) -> Finding:
    """Compare the free memory (bytes; None: unknown) with what a build takes."""
    if free is None:
        return Finding("memory", "note", "how much is free is unknown, because only Linux reports it")
    text = f"{decimal(free)} free; a build takes up to {decimal(BUILD_MEMORY)}"
    return _judge("memory", free >= BUILD_MEMORY, text, "close other programs, or add swap")


def check_disk(artifacts: Path) -> Iterator[Finding]:
    """Check the space of the folder of artifacts, or its nearest parent, and write a temporary file there."""
    folder = next(path for path in (artifacts.absolute(), *artifacts.absolute().parents) if path.is_dir())
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".doctor-") as temporary:
            FileLock(Path(temporary, "lock")).acquire(blocking=False).lock.release()  # as the store does
    except (OSError, Timeout) as error:
        text = f"{artifacts} cannot be written: {error}"
        yield Finding("artifacts", "wrong", text, "make it writable, or build elsewhere with --root")
    free = shutil.disk_usage(folder).free
    text = f"{decimal(free)} free below {artifacts}; a build takes {decimal(BUILD_DISK)}"
    remedy = "free some space: kokoro-tvm gc --keep 1, or delete artifacts/peers"
    yield _judge("disk", free >= BUILD_DISK, text, remedy)


def check_cache() -> Finding:
    """Try the shared cache that the environment names."""
    remedy = "correct KOKORO_TVM_CACHE, or unset it"
    warnings: list[str] = []
    try:
        cache = Cache.from_environment(warnings.append)
    except InputError as error:  # it would fail a build
        return Finding("cache", "wrong", str(error), remedy)
    if cache is None:
        return Finding("cache", "fine", "no shared cache (set KOKORO_TVM_CACHE to use one)")
    cache.try_out()
    if warnings:  # a build would not use it
        return Finding("cache", "note", warnings[0].removeprefix("note: "), remedy)
    return Finding("cache", "fine", f"{cache.url}, {cache.mode}{', signed' if cache.is_signed else ''}")


def _unfetched(model: str, recipe: Recipe, root: Path) -> Mapping[str, str | None] | None:
    """Return the sources of a model's weights and their problems; None if the weights are fetched."""
    if (root / "artifacts" / "checkpoint" / model / "weights.safetensors").is_file():
        return None
    return check_sources(recipe.checkpoint, root)


def check_checkpoint(model: str, sources: Mapping[str, str | None] | None) -> Finding:
    """Report whether a model's weights can be fetched, from `_unfetched`'s result."""
    about = f"model {model}"
    if sources is None:
        return Finding(about, "fine", "its weights are fetched")
    failing = "; ".join(f"{source}: {problem}" for source, problem in sources.items() if problem)
    reachable = next((source for source, problem in sources.items() if not problem), None)
    if reachable is not None:
        text = f"its weights are not fetched yet; the first build fetches them from {reachable}"
        return Finding(about, "fine", f"{text} ({failing})" if failing else text)
    text = f"its weights are not fetched yet, and none of their sources can be reached ({failing})"
    return Finding(about, "note", text, "connect to the network, or see docs/troubleshooting.md")


def _python() -> Path:
    return shorten_path(Path(sys.executable))
