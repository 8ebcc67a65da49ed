"""Fetches an MP3 encoder for a site: lamejs (LAME in JavaScript) from the npm registry.

Its license is the LGPL, so this project has no file of it. A site has it unchanged in a folder of its own,
where it can be replaced. The page loads it to save speech as MP3.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.pins import check_sha256
from kokoro_tvm.model.sources.material import Log, SourceUnavailableError
from kokoro_tvm.model.sources.npm import extract, pack

PACKAGE = "@breezystack/lamejs"
VERSION = "1.2.7"
MODULE = "lamejs.js"  # the ES module that the page loads; it exports `Mp3Encoder`

# Files of the package -> SHA-256. package.json names the license and the sources.
_FILES = {
    "dist/lamejs.js": "1c5f944911ccf2f6e29ab36c2e568363210ab16f50c0d76077060f40ecf91d28",
    "LICENSE": "cd144ca132e3842b01f5ed2d6f3a32141e24a1cc15e115aa5f19a2294ce0a379",
    "README.md": "17d0a13abd2be08c869ce58bd084f0d970dac868e33a9f24b63029b03dcd05ad",
    "package.json": "cd7e0d13df9e60b931dd7b307c2e1c06af9c44667dda281d5c77d7d226034f9e",
}
_PINS = {PurePosixPath("package", path): sha256 for path, sha256 in _FILES.items()}
_MAX_BYTES = 1 << 20


def fetch_encoder(cache: Path, log: Log) -> Path:
    """Return the folder of the encoder below `cache`, after fetching it if it is missing.

    Raises:
        BuildError: npm or its registry does not answer, or a file differs from the pinned one.
    """
    folder = cache / f"lamejs-{VERSION}"
    if not folder.is_dir():
        _download(folder, log)
    for path, sha256 in _PINS.items():
        check_sha256(folder / path.name, sha256, f"{path.name} of {PACKAGE}@{VERSION}")
    return folder


def _download(folder: Path, log: Log) -> None:
    """Download the package of the encoder and move its pinned files to `folder`.

    Raises BuildError if that fails or a file is missing.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        work, extracted = Path(temporary), Path(temporary, "extracted")
        extracted.mkdir()
        try:
            archive = pack(PACKAGE, VERSION, work, log)
        except SourceUnavailableError as error:
            raise BuildError(
                f"The MP3 encoder cannot be fetched: {error}. With --no-mp3 the page saves WAV."
            ) from error
        extract(archive, extracted, _PINS.__contains__, _MAX_BYTES)
        missing = [path.name for path in _PINS if not (extracted / path.name).is_file()]
        if missing:
            raise BuildError(f"{PACKAGE}@{VERSION} has no {', '.join(missing)}")
        shutil.move(extracted, folder)
