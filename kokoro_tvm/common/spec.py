"""Base class of recipe records, and types of strings with a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
_EXTENDED = r"^_?[a-z0-9][a-z0-9_-]{0,63}$"
_SHA256 = r"^[0-9a-f]{64}$"
_LANGUAGE = r"^[a-z]$"
_ESPEAK = r"^[a-z]{2,3}(-[a-z0-9]+)*$"
_REVISION = r"^[0-9a-f]{40}$"
_REPOSITORY = r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"
_NPM_NAME = r"^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$"
_NPM_VERSION = r"^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$"
_PYPI_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
_PYPI_VERSION = r"^[0-9]+(\.[0-9]+)*((a|b|rc|\.post|\.dev)[0-9]+)*$"
_URL = r"^https://[A-Za-z0-9.-]+(:[0-9]+)?/[A-Za-z0-9._~/+%-]+$"
_RELATIVE = r"^[A-Za-z0-9_][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*$"
_VOICE = r"^[a-z][a-z0-9_]{0,63}$"
_TRIPLE = r"^[a-z0-9_]+(-[A-Za-z0-9_.]+){1,3}$"
_CPU_FEATURE = r"^[+-][A-Za-z0-9._-]+$"
_TVM_PASS = r"^[A-Za-z][A-Za-z0-9_.]*$"
_CPU = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
_EMULATED = r"^[A-Za-z0-9][A-Za-z0-9._-]*(,[A-Za-z0-9._+-]+(=[A-Za-z0-9._-]+)?)*$"
_GPU_ARCHITECTURE = r"^sm_[0-9]+$"

# Pattern -> its description in errors.
PATTERNS: dict[str, str] = {
    _NAME: "a name of lower-case letters, digits, - and _ (at most 64)",
    _EXTENDED: "the name of a recipe, or of a part of recipes, which begins with _",
    _SHA256: "a SHA-256 of 64 lower-case hexadecimal digits",
    _LANGUAGE: "a letter",
    _ESPEAK: "a language as espeak-ng names it, such as de or pt-br",
    _REVISION: "a full commit id of 40 lower-case hexadecimal digits",
    _REPOSITORY: "a hub repository written owner/name",
    _NPM_NAME: "an npm package name",
    _NPM_VERSION: "an exact version such as 1.0.0",
    _PYPI_NAME: "a package name as PyPI has it",
    _PYPI_VERSION: "an exact version such as 3.8.0",
    _URL: "an https address of a file, without query",
    _RELATIVE: "a relative path inside the source, with / between folders",
    _VOICE: "a voice name such as af_heart, of lower-case letters, digits and _",
    _TRIPLE: "an LLVM target triple such as x86_64-linux-gnu",
    _CPU_FEATURE: "a CPU feature with + or - before it, such as +avx512f",
    _TVM_PASS: "the name of a TVM pass such as FuseOps",
    _CPU: "the name of a CPU as LLVM spells it, or native",
    _EMULATED: "the name of a CPU as QEMU spells it, such as cortex-a72",
    _GPU_ARCHITECTURE: "a GPU architecture as NVIDIA spells it, such as sm_90",
}

Name = Annotated[str, Field(pattern=_NAME)]
Extended = Annotated[str, Field(pattern=_EXTENDED)]
Sha256 = Annotated[str, Field(pattern=_SHA256)]
Revision = Annotated[str, Field(pattern=_REVISION)]
Repository = Annotated[str, Field(pattern=_REPOSITORY)]
NpmName = Annotated[str, Field(pattern=_NPM_NAME)]
NpmVersion = Annotated[str, Field(pattern=_NPM_VERSION)]
PypiName = Annotated[str, Field(pattern=_PYPI_NAME)]
PypiVersion = Annotated[str, Field(pattern=_PYPI_VERSION)]
Url = Annotated[str, Field(pattern=_URL)]
RelativePath = Annotated[str, Field(pattern=_RELATIVE)]
VoiceName = Annotated[str, Field(pattern=_VOICE)]
LanguageCode = Annotated[str, Field(pattern=_LANGUAGE)]
EspeakName = Annotated[str, Field(pattern=_ESPEAK)]
CpuName = Annotated[str, Field(pattern=_CPU)]
GpuArchitecture = Annotated[str, Field(pattern=_GPU_ARCHITECTURE)]
EmulatedCpu = Annotated[str, Field(pattern=_EMULATED)]
CpuFeature = Annotated[str, Field(pattern=_CPU_FEATURE)]
Triple = Annotated[str, Field(pattern=_TRIPLE)]
TvmPass = Annotated[str, Field(pattern=_TVM_PASS)]


class Spec(BaseModel):
    """A frozen record that refuses unknown keys and converts no types; sequences are tuples."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    key_word: ClassVar[str] = "key"  # for a key of this record in errors

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        """Raise PydanticCustomError for a key that is no field."""
        # Checked first: for a key with a typo, "missing" would be the wrong error.
        if isinstance(data, dict):
            valid = tuple(cls.model_fields)
            for key in data:
                if key not in valid:
                    context = {"key": str(key), "what": cls.key_word, "valid": valid}
                    raise PydanticCustomError("unknown_key", "unknown key {key}", context)
        return data


class TargetSpec(Spec):
    """A recipe's `target`; `kokoro_tvm.targets` has a subclass for every kind."""

    kind: str
    run: bool = Field(
        default=True,
        description="Whether this machine runs the code. `false`: the gates are not run, and the "
        "bundle says so whenever it is opened or inspected.",
    )

    @property
    def not_run(self) -> str:
        """Reason why the code is not run, or "" if the recipe lets it run."""
        return "" if self.run else "the recipe's target says `run: false`"


def refuse_duplicates(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words. Raises PydanticCustomError if one is listed twice."""
    if len(set(words)) == len(words):
        return words
    for index, word in enumerate(words):
        if word in words[:index]:
            context = {"word": word, "index": index}
            raise PydanticCustomError("listed_twice", "`{word}` is listed twice; name it once", context)
    return words


def choice_of(what: str, choices: Callable[[], Sequence[str]]) -> AfterValidator:
    """Return a validator that refuses a word which is not among `choices()`; `what` is the kind of word."""

    def check(word: str) -> str:
        """Return the word. Raises PydanticCustomError for an unknown one."""
        if word not in (valid := choices()):
            raise unknown_word_error(what, word, valid)
        return word

    return AfterValidator(check)


def unknown_word_error(what: str, word: str, valid: Sequence[str], *path: str | int) -> PydanticCustomError:
    """Return the error of an unknown word; its message lists near ones of `valid`."""
    context = {"what": what, "word": word, "valid": valid, "path": path}
    return PydanticCustomError("unknown_word", "unknown {what} {word}", context)
