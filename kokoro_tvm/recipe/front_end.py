"""Specs of the text front end's files: their digests, and their sources, in the order they are tried."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from kokoro_tvm.common.spec import NpmVersion, PypiName, PypiVersion, RelativePath, Sha256, Spec, Url

_FOLDER = "Folder of the files in the archive or package."


class HttpsSource(Spec):
    """An archive (a wheel, or another zip file) at an address."""

    kind: Literal["https"] = Field(description="Wheel or other zip file at an address.")
    url: Url = Field(description="Address of the archive.")
    sha256: Sha256 = Field(description="SHA-256 of the archive.")
    folder: RelativePath = Field(description=_FOLDER)


class PypiSource(Spec):
    """A wheel of the package index that pip is set up for. Its files are read; its code is not run."""

    kind: Literal["pypi"] = Field(
        description="Wheel of the package index, downloaded with pip. Its code is not run."
    )
    package: PypiName = Field(description="Name of the package.")
    version: PypiVersion = Field(description="Exact version of the package.")
    sha256: Sha256 = Field(description="SHA-256 of the wheel.")
    folder: RelativePath = Field(description=_FOLDER)


class InstalledSource(Spec):
    """A package of this environment. Its files are read; its code is not run."""

    kind: Literal["installed"] = Field(description="Package installed in the build environment.")
    package: PypiName = Field(description="Name of the package.")
    version: PypiVersion = Field(description="Exact version of the package.")
    folder: RelativePath = Field(description=_FOLDER)


class ArchiveFileSource(Spec):
    """An archive that the user supplies."""

    kind: Literal["file"] = Field(description="Local wheel or other zip file.")
    path: str = Field(
        min_length=1, max_length=4096, description="Path of the archive, relative to the repository's root."
    )
    sha256: Sha256 = Field(description="SHA-256 of the archive.")
    folder: RelativePath = Field(description=_FOLDER)


class NpmFilesSource(Spec):
    """Packages of the npm registry; the first folder of a file's path names its package."""

    kind: Literal["npm"] = Field(
        description="Packages of the npm registry. The first folder of a file's path is the name of "
        "its package."
    )
    version: NpmVersion = Field(description="Exact version of all packages.")


PackageSource = Annotated[
    HttpsSource | PypiSource | InstalledSource | NpmFilesSource | ArchiveFileSource,
    Field(discriminator="kind"),
]


class PinnedFiles(Spec):
    """Files by digest, and their sources."""

    files: dict[RelativePath, Sha256] = Field(
        description="SHA-256 of each file, by its path in the source's folder."
    )
    sources: tuple[PackageSource, ...] = Field(
        min_length=1, description="Sources in the order in which they are tried."
    )

    @field_validator("files")
    @classmethod
    def _sort_files(cls, files: dict[str, str]) -> dict[str, str]:
        """Sort the files by name. Raises PydanticCustomError if there are none."""
        if not files:
            raise PydanticCustomError("no_files", "needs at least one file")
        return dict(sorted(files.items()))


class FrontEndSpec(Spec):
    """Tagger, lexicon and names of the English front end, and Unicode CLDR's data of every language."""

    tagger: PinnedFiles = Field(description="spaCy's small English model.")
    lexicon: PinnedFiles = Field(description="misaki's lexicon of American and of British English.")
    cmudict: PinnedFiles | None = Field(
        default=None, description="The CMU Pronouncing Dictionary: names and words that the lexicon lacks."
    )
    cldr: PinnedFiles | None = Field(
        default=None,
        description="Files of Unicode CLDR, by which rules read written forms (numbers, dates, "
        "units). null: written forms are not read.",
    )
