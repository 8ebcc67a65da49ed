"""The `target` of a recipe for CPUs, checked against the names that LLVM knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.platforms import Platform, detect_platform, parse_triple
from kokoro_tvm.common.spec import (
    CpuFeature,
    CpuName,
    EmulatedCpu,
    TargetSpec,
    Triple,
    refuse_duplicates,
    unknown_word_error,
)
from kokoro_tvm.native.toolchains.compiler_names import compiler_names, unknown_in_triple


class LlvmTarget(TargetSpec):
    """A CPU, compiled for by TVM's LLVM."""

    kind: Literal["llvm"] = Field(description="Kind of target: `llvm` for CPUs.")
    mcpu: CpuName = Field(
        description="CPU by LLVM's name (`znver5`, `apple-m1`), or `native` for the CPU of the build machine."
    )
    mtriple: Triple | None = Field(
        default=None,
        description="LLVM target triple, such as `aarch64-linux-gnu`. null: that of the build "
        "machine. `native` takes no triple.",
    )
    mattr: Annotated[tuple[CpuFeature, ...], AfterValidator(refuse_duplicates)] = Field(
        default=(), description="CPU features to add (`+avx512f`) or to remove (`-sse4a`)."
    )
    emulate: EmulatedCpu | None = Field(
        default=None,
        description="CPU by QEMU's name (`qemu-aarch64 -cpu help`), to run the gates under QEMU's "
        "user-mode emulation, which is a hundred times slower. A Mac runs code for macOS "
        "itself. null: the build machine runs the code.",
    )

    @model_validator(mode="after")
    def _check_native(self) -> LlvmTarget:
        """Raise PydanticCustomError for `mcpu: native` with a triple."""
        if self.mcpu == "native" and self.mtriple is not None:
            raise PydanticCustomError(
                "native_triple",
                "native is the machine that builds: name the CPU where a triple is given",
                {"key": "mcpu"},
            )
        return self

    @model_validator(mode="after")
    def _check_words(self) -> LlvmTarget:
        """Raise PydanticCustomError for words that LLVM would ignore and contradicting features."""
        if self.mtriple is not None and (unknown := unknown_in_triple(self.mtriple)) is not None:
            raise unknown_word_error(*unknown, "mtriple")
        names, architecture = compiler_names(), self.platform.architecture
        what = "CPU" if self.mtriple is None else f"{architecture} CPU"
        cpus = ("native", *names.cpus.get(architecture, ()))
        features = names.features.get(architecture, ())
        if self.mcpu not in cpus:
            raise self._foreign_word_error(self.mcpu, "CPU", names.cpus, "mcpu") or unknown_word_error(
                what, self.mcpu, cpus, "mcpu"
            )
        for index, word in enumerate(self.mattr):
            if word[1:] not in features:
                valid = [f"{word[0]}{name}" for name in features]
                raise self._foreign_word_error(
                    word[1:], "feature", names.features, "mattr", index
                ) or unknown_word_error(f"{what} feature", word, valid, "mattr", index)
            opposite = "-+"[word[0] == "-"] + word[1:]
            if opposite in self.mattr[:index]:
                raise PydanticCustomError(
                    "contradiction",
                    "`{word}` contradicts `{opposite}`; keep one of them",
                    {"word": word, "opposite": opposite, "path": ("mattr", index)},
                )
        return self

    def _foreign_word_error(
        self, word: str, what: str, names: Mapping[str, Sequence[str]], *path: str | int
    ) -> PydanticCustomError | None:
        """Return the error for a CPU or feature of another architecture; None if no architecture has it."""
        others = [architecture for architecture, words in names.items() if word in words]
        if not others:
            return None
        context = {"word": word, "what": what, "of": " and ".join(others), "here": self.platform.architecture}
        remedy = "leave it out"
        if what == "CPU":
            remedy = f"write `mtriple: {others[0]}-linux-gnu`"
        return PydanticCustomError(
            "foreign_word",
            "`{word}` is a {what} of {of}, not of {here}; {remedy}",
            context | {"remedy": remedy, "path": path},
        )

    @property
    def platform(self) -> Platform:
        """Return architecture and operating system."""
        return parse_triple(self.mtriple) if self.mtriple else detect_platform()

    @property
    def is_native(self) -> bool:
        """Return whether the build machine has this architecture and operating system."""
        return self.platform == detect_platform()

    @property
    def is_emulated(self) -> bool:
        """Return whether QEMU runs the code."""
        return self.emulate is not None and not (self.is_native and self.platform.system != "linux")
