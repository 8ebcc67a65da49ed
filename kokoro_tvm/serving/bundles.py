"""Bundles that a server speaks with, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kokoro_tvm.common.bundles import default_bundle
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.voices import describe
from kokoro_tvm.runtime.speech.synthesizer import Synthesizer
from kokoro_tvm.serving.jobs import YieldingRunner

_ENGLISH = frozenset("ab")  # letters of the languages that a bundle has data for


def name_folders(arguments: Sequence[str]) -> dict[str, Path]:
    """Parse `DIR` or `NAME=DIR` into folders by name; without arguments, take the default bundle.

    Raises:
        InputError: A name is invalid or comes twice.
    """
    folders: dict[str, Path] = {}
    for argument in arguments or (str(default_bundle()),):
        name, equals, folder = argument.partition("=")
        path = Path(folder if equals else argument)
        name = name if equals else path.resolve().name
        if not name or len(name) > 64 or not name.isprintable() or (not folder and equals):
            raise InputError(f"{argument!r} is no bundle. Write its folder, or NAME=DIR.")
        if name in folders:
            raise InputError(f"Two bundles are called {name!r}. Give them names, NAME=DIR.")
        folders[name] = path
    return folders


def make_yielding(synthesizer: Synthesizer) -> Synthesizer:
    """Let a synthesizer's runner yield the turn before each component; return the synthesizer."""
    synthesizer.runner = YieldingRunner(synthesizer.runner)
    return synthesizer


class Bundles:
    """Synthesizers by name; the first speaks for every other name.

    A speech goes on with the synthesizer that it began with.
    """

    def __init__(
        self,
        synthesizers: Mapping[str, Synthesizer],
        threads: int | None = None,
        voices: str | None = None,
        lexicon: str | None = None,
    ) -> None:
        """Serve open bundles; the other arguments are for those that `reload` opens."""
        self._synthesizers = dict(synthesizers)
        self._threads = threads
        self._voices = voices
        self._lexicon = lexicon
        self._manifests = self._identify_manifests()

    @classmethod
    def open(
        cls,
        folders: Mapping[str, Path],
        threads: int | None = None,
        voices: str | None = None,
        lexicon: str | None = None,
    ) -> Bundles:
        """Open the bundles of some folders.

        Args:
            folders: By name.
            threads: Of each bundle.
            voices: Folder of voices beside those of each bundle.
            lexicon: YAML file of words and their phonemes.

        Raises:
            BundleError: As `Synthesizer` does.
            InputError: As `Synthesizer` does.
        """
        synthesizers = {
            name: make_yielding(Synthesizer(path, threads, voices=voices, lexicon=lexicon))
            for name, path in folders.items()
        }
        return cls(synthesizers, threads, voices, lexicon)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bundles, in order."""
        return tuple(self._synthesizers)

    def of(self, model: str = "") -> Synthesizer:
        """Return the synthesizer of a name, or the first."""
        return self._synthesizers[self.name_of(model)]

    def name_of(self, model: str = "") -> str:
        """Return the name of the bundle that speaks for a name."""
        return model if model in self._synthesizers else self.names[0]

    def changed(self) -> tuple[str, ...]:
        """Return the names of bundles whose manifest on disk is not the one that is served."""
        current = self._identify_manifests()
        return tuple(name for name in self.names if current[name] != self._manifests[name])

    def open_front_ends(self) -> None:
        """Read a word in each language that a bundle has data for, which opens the data.

        Other languages are read by packages, which are imported with their first text.

        Raises:
            BundleError: The data is damaged.
        """
        for tts in self._synthesizers.values():
            codes = {describe(name, tts.bundle.languages).code for name in tts.voices.names} & _ENGLISH
            for code in sorted(codes if tts.bundle.front_end is not None else ()):
                tts.phonemize("Ready.", tts.voices.names[0], language=code)

    def reload(self) -> None:
        """Open all bundles again, voices and front ends included.

        Raises:
            BundleError: A bundle cannot be opened. Those that are open stay.
            InputError: A voice or the lexicon cannot be read. The open bundles stay.
        """
        folders = {name: tts.bundle.root for name, tts in self._synthesizers.items()}
        bundles = Bundles.open(folders, self._threads, self._voices, self._lexicon)
        bundles.open_front_ends()
        self._synthesizers, self._manifests = bundles._synthesizers, bundles._manifests

    def _identify_manifests(self) -> dict[str, tuple[int, int, int] | None]:
        return {name: _identify(tts.bundle.root / "bundle.json") for name, tts in self._synthesizers.items()}


def _identify(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and time of a file, or None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
