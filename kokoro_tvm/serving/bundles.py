"""The bundles that are served, by name: opened, noticed when they change, and opened again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kokoro_tvm.common.bundles import default_bundle
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.voices import describe
from kokoro_tvm.runtime.speech.synthesizer import Synthesizer
from kokoro_tvm.serving.scheduler import Yielding

__all__ = ["Bundles", "in_turns", "named_folders"]

_ENGLISH = frozenset("ab")  # letters of the languages that a bundle has data for


def named_folders(given: Sequence[str]) -> dict[str, Path]:
    """Folders by name, of `DIR` or `NAME=DIR` each; the default bundle where none is given.

    Raises InputError for a name that comes twice or is none.
    """
    found: dict[str, Path] = {}
    for each in given or (str(default_bundle()),):
        name, equals, folder = each.partition("=")
        path = Path(folder if equals else each)
        name = name if equals else path.resolve().name
        if not name or len(name) > 64 or not name.isprintable() or (not folder and equals):
            raise InputError(f"{each!r} is no bundle. Write its folder, or NAME=DIR.")
        if name in found:
            raise InputError(f"Two bundles are called {name!r}. Give them names, NAME=DIR.")
        found[name] = path
    return found


def in_turns(synthesizer: Synthesizer) -> Synthesizer:
    """The synthesizer itself, whose components ask the request that they run for before each."""
    synthesizer.runner = Yielding(synthesizer.runner)
    return synthesizer


class Bundles:
    """Synthesizers by name; the first speaks for every name that is not there.

    What is being spoken goes on with the synthesizer that it began with.
    """

    def __init__(
        self,
        synthesizers: Mapping[str, Synthesizer],
        threads: int | None = None,
        voices: str | None = None,
    ) -> None:
        """threads, voices: for those that are opened again."""
        self._synthesizers = dict(synthesizers)
        self._threads = threads
        self._voices = voices
        self._marks = self._seen()

    @classmethod
    def open(
        cls, folders: Mapping[str, Path], threads: int | None = None, voices: str | None = None
    ) -> Bundles:
        """All bundles of some folders, each with the voices of a folder beside its own; raises BundleError
        and InputError as `Synthesizer` does."""
        opened = {name: in_turns(Synthesizer(path, threads, voices=voices)) for name, path in folders.items()}
        return cls(opened, threads, voices)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order they were given."""
        return tuple(self._synthesizers)

    def of(self, model: str = "") -> Synthesizer:
        """The synthesizer of this name, or the first."""
        return self._synthesizers.get(model) or next(iter(self._synthesizers.values()))

    def changed(self) -> tuple[str, ...]:
        """Names of bundles whose folder has another manifest than the one that is served, or none."""
        seen = self._seen()
        return tuple(name for name in self.names if seen[name] != self._marks[name])

    def open_front_ends(self) -> None:
        """Read a word in each language that the data of a bundle is for: what that opens stays open.

        Other languages are read by packages, which are imported with their first text. Raises BundleError for
        damaged data.
        """
        for each in self._synthesizers.values():
            codes = {describe(name, each.bundle.languages).code for name in each.voices.names} & _ENGLISH
            for code in sorted(codes if each.bundle.front_end is not None else ()):
                each.phonemize("Ready.", each.voices.names[0], language=code)

    def reload(self) -> None:
        """Open all bundles again, voices and front ends included; where one cannot be, nothing changes, and
        BundleError or InputError says why."""
        folders = {name: each.bundle.root for name, each in self._synthesizers.items()}
        opened = Bundles.open(folders, self._threads, self._voices)
        opened.open_front_ends()
        self._synthesizers, self._marks = opened._synthesizers, opened._marks

    def _seen(self) -> dict[str, tuple[int, int, int] | None]:
        return {name: _mark(each.bundle.root / "bundle.json") for name, each in self._synthesizers.items()}


def _mark(path: Path) -> tuple[int, int, int] | None:
    """What tells a file from another of its name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
