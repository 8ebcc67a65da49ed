"""Opening a bundle for speech: its files compared with the manifest, and what speaks made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.bundles import default_bundle
from kokoro_tvm.runtime.bundle.files import OpenFiles
from kokoro_tvm.runtime.bundle.manifest import Bundle, read_bundle
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.bundle.verification import verify_bundle
from kokoro_tvm.runtime.bundle.voice_files import read_voices
from kokoro_tvm.runtime.bundle.voices import Voices
from kokoro_tvm.runtime.session.session import Session
from kokoro_tvm.runtime.threads import choose_threads

if TYPE_CHECKING:
    from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd

__all__ = ["Opened", "open_bundle"]


@dataclass(frozen=True)
class Opened:
    """front_end: makes the front end, of data that is mapped already; imported with the first text."""

    bundle: Bundle
    session: Session
    voices: Voices
    front_end: Callable[[], FrontEnd]


def open_bundle(
    path: str | Path | None,
    threads: int | None,
    verify: bool,
    sha256: str | None,
    lexicon: str | Path | None,
    voices: str | Path | None,
) -> Opened:
    """As `Synthesizer` opens one, and with its errors."""
    count = choose_threads(threads)
    bundle = read_bundle(default_bundle() if path is None else path, sha256)
    words = None
    if lexicon is not None:
        from kokoro_tvm.runtime.text.lexicon_file import read_lexicon

        words = read_lexicon(lexicon, bundle.vocabulary)
    own = {} if voices is None else read_voices(Path(voices), 2 * bundle.style_dim)
    with OpenFiles(bundle.files()) as files:
        verify_bundle(bundle, files, workers=count, again=verify)
        session = Session(bundle, count, files)
        all_voices = Voices.open(bundle, files[bundle.voices])
        data = bundle.front_end
        tensors = None if data is None else map_safetensors(data.path, files[data])

    def front_end() -> FrontEnd:
        from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
        from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd

        file = None if data is None or tensors is None else FrontEndFile(tensors, data.path)
        return FrontEnd(file, words, bundle.languages)

    return Opened(bundle, session, all_voices.joined(own) if own else all_voices, front_end)
