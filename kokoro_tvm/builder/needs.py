"""Programs that a recipe's stages need, besides Python packages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from kokoro_tvm.builder.engine.versions import find_version
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.packages import advice, list_missing_packages
from kokoro_tvm.native.toolchains import problem_of
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import CompiledLibrary, Tools, target_kind, tools_for


class RequiredProgram(Protocol):
    """Linker, compiler or runner."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Debian packages that contain it."""
        ...

    def version(self) -> str:
        """Return its version. Raises BuildError if it is missing."""
        ...

    def check(self) -> str | None:
        """Return what is wrong with it, or None."""
        ...


@dataclass(frozen=True)
class Need:
    """Program that a recipe needs.

    Attributes:
        about: What it is, for example "linker".
        stage: Kind of the first stage that calls it.
        program: The program.
        way: How it runs code, if it is a runner.
    """

    about: str
    stage: str
    program: RequiredProgram
    way: str = ""

    @property
    def identity(self) -> tuple[str, object]:
        """Key that is equal for equal needs of recipes."""
        return self.about, self.way or self.program


@dataclass(frozen=True)
class _Assembler:
    """Python packages that compile kernels of a kind of GPU to machine code."""

    tools: Tools
    packages: tuple[str, ...] = ()

    def version(self) -> str:
        return self.tools.assembler()

    def check(self) -> str | None:
        return problem_of(self.version)


class _Recogniser:
    """Python package that recognises speech."""

    packages = ()

    def version(self) -> str:
        """Return the package's version. Raises BuildError if the extra `asr` is not installed."""
        if lacking := list_missing_packages("asr"):
            raise BuildError(f"{', '.join(lacking)} not installed: `{advice(lacking)}`")
        return f"moonshine-voice {find_version('moonshine-voice')}"

    def check(self) -> str | None:
        return problem_of(self.version)


_RECOGNISER = _Recogniser()


def needs_of(recipe: Recipe) -> list[Need]:
    """Return the needs of a recipe, in the order of its stages."""
    tools = tools_for(recipe.target)
    needs = []
    with suppress(BuildError):  # TVM itself is missing, which is a package
        libraries = {**tools.runtime_libraries(ffi=recipe.runtime.c)}
        compilers = {lib.compiler for lib in libraries.values() if isinstance(lib, CompiledLibrary)}
        needs += [Need("C++ compiler", "libtvm", compiler) for compiler in compilers]
    compiler = tools.c_compiler()
    if recipe.runtime.c and compiler is not None:
        needs.append(Need("C compiler", "libkokoro", compiler))
    needs.append(Need("linker", "compile", tools.toolchain()))
    if target_kind(recipe.target.kind).has_machine_code:
        needs.append(Need("GPU compiler", "assemble", _Assembler(tools)))
    runner = tools.runner()
    if runner is not None and runner.way:
        needs.append(Need("runner", "validate", runner, runner.way))
    if recipe.gates.intelligibility.max_word_error_increase is not None:
        needs.append(Need("speech recogniser", "intelligibility", _RECOGNISER))
    return needs


def require_tools(recipe: Recipe) -> None:
    """Raise BuildError with one line for each program that the recipe's stages need and that is missing."""
    problems = dict.fromkeys(problem_of(need.program.version) for need in needs_of(recipe))
    if lines := [line for line in problems if line is not None]:
        raise BuildError("\n".join(lines))


def debian_packages(recipes: Iterable[Recipe]) -> list[str]:
    """Return the names of the Debian packages that the recipes need."""
    needs = (need for recipe in recipes for need in needs_of(recipe))
    return sorted({package for need in needs for package in need.program.packages})
