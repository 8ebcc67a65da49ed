"""Languages and the default voice of a bundle."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from toy_bundle import FakeRunner, edit_manifest, write_bundle

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime import SpeechWarning, Voices, describe, read_bundle
from kokoro_tvm.runtime.bundle.languages import KOKORO, SpokenLanguage
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText

GERMAN = {"d": {"name": "German", "espeak": "de"}}


def speaking(folder: Path, languages: object) -> Synthesizer:
    """Return a toy synthesizer with languages in the manifest, and voices without a language."""
    edit_manifest(write_bundle(folder), lambda manifest: manifest.update(languages=languages))
    bundle = read_bundle(folder)
    table = Voices.open(bundle).table("af_heart")
    return Synthesizer.from_parts(bundle, FakeRunner(), Voices({"bernd": table, "anna": table}))


def test_single_language_applies_to_every_voice(tmp_path: Path) -> None:
    tts = speaking(tmp_path, GERMAN)
    assert tts.bundle.languages == {"d": SpokenLanguage("German", "de")}
    assert describe("af_heart", tts.bundle.languages).language == "German"
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpeechWarning)
        assert tts.phonemize("Bad.") == ["bˈɑːt."]
        assert tts.plan_phonemes("bad.").voice == tts.voices.default == "anna"
    with pytest.raises(InputError, match=r"There is no language 'a'\. Choose one of d \(German\)"):
        tts.stream("Bad.", language="a")


def test_voice_without_language_uses_the_first(tmp_path: Path) -> None:
    tts = speaking(tmp_path, {**GERMAN, "a": {"name": "American English", "espeak": None}})
    with pytest.warns(SpeechWarning, match="The name of the voice anna names no language; German is used"):
        tts.phonemize("Bad.")


@pytest.mark.parametrize("languages", [{}, {"d": "German"}, {"d": {"espeak": "de"}}, ["d"]])
def test_read_bundle_refuses_invalid_languages(tmp_path: Path, languages: object) -> None:
    with pytest.raises(BundleError, match=r"languages.*Build the bundle again"):
        speaking(tmp_path, languages)


def test_bundle_without_languages_has_those_of_kokoro(tmp_path: Path) -> None:
    assert speaking(tmp_path, None).bundle.languages == KOKORO


def test_front_end_uses_the_espeak_voice_of_a_language() -> None:
    pytest.importorskip("espeakng_loader")
    read = FrontEnd(None, None, {"d": SpokenLanguage("German", "de")}).read
    (utterance,) = read(SourceText.of("Guten Tag."), "d").utterances
    assert utterance.phonemes == "ɡˈuːtən tˈɑːk."
