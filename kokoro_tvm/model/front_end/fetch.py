"""Fetch the sources of the front end, and write its file."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.front_end.conversion import convert
from kokoro_tvm.model.front_end.sources import describe, obtain
from kokoro_tvm.model.front_end.yields import FILES, pinned_digests
from kokoro_tvm.model.sources.material import Log, try_sources
from kokoro_tvm.recipe.front_end import FrontEndSpec, PinnedFiles

HOW_TO_SUPPLY = (
    "To supply an archive yourself, download it on any machine and add to the sources of this part in the "
    "model recipe an entry with `kind: file`, `path`, `sha256` and `folder`"
)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # date of every file in the archive, for reproducible bytes


def fetch(front_end: FrontEndSpec, out: Path, *, root: Path | None = None, log: Log | None = None) -> None:
    """Fill the empty folder `out` with `FILES`, from the first source of each part that answers.

    Args:
        front_end: The parts and their sources.
        out: The folder.
        root: Folder that paths of `file` sources start from; the working directory by default.
        log: Called with lines for the log.

    Raises:
        BuildError: No source of a part answers (each is listed with its reason), or one has other content
            than what is pinned; later sources are not tried then.
    """
    say = log or (lambda line: None)
    work = out / "downloads"
    try:
        folders = {name: work / name for name in pinned_digests(front_end)}
        for name, folder in folders.items():
            folder.mkdir(parents=True)
            pinned: PinnedFiles = getattr(front_end, name)
            labelled = [(describe(source), source) for source in pinned.sources]
            obtained = partial(obtain, files=pinned.files, out=folder, root=root or Path(), log=say)
            try_sources(f"the {name}", labelled, obtained, work / "download", say, HOW_TO_SUPPLY)
        convert(folders, out / FILES[0])
        pack(folders["tagger"], front_end.tagger.files, out / FILES[1])
    except BuildError as error:
        raise type(error)(str(error).replace(f"{work}{os.sep}", "")) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    text = json.dumps(pinned_digests(front_end), indent=2, sort_keys=True) + "\n"
    (out / FILES[2]).write_text(text, encoding="utf-8")
    say(f"{(out / FILES[0]).stat().st_size / 1e6:.1f} MB of tagger and lexicon")


def pack(folder: Path, files: Mapping[str, str], target: Path) -> None:
    """Write files into an uncompressed archive; equal files give equal bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), (folder / name).read_bytes())
