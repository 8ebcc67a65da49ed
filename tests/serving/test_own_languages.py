"""A server of a bundle whose model brings its own voices and languages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import Server, serving
from toy_bundle import STYLE, edit_manifest, file_entry, write_bundle, write_safetensors

from kokoro_tvm.serving.wyoming.info import describe_programs, find_voice

OWN = {"d": {"name": "German", "espeak": "de"}, "p": {"name": "European Portuguese", "espeak": "pt"}}


def own_bundle(folder: Path, **options: Any) -> Path:
    """The toy bundle with the voices da_rosa and pm_joao, and these languages."""
    write_bundle(folder, **options)
    voices = {name: np.full((510, 2 * STYLE), value, np.float32) for name, value in VOICES.items()}
    write_safetensors(folder / "voices.safetensors", voices)
    entry = file_entry(folder / "voices.safetensors")
    edit_manifest(folder, lambda manifest: manifest.update(voices=entry, languages=OWN))
    return folder


VOICES = {"df_rosa": 1.0, "pm_joao": 2.0, "zed": 3.0}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serving.write_bundle", own_bundle)
        with serving(tmp_path_factory.mktemp("served") / "toy") as running:
            yield running


def test_default_voice_is_that_of_the_bundle(server: Server) -> None:
    assert server.speak("Ha.").body == server.expected("Ha.", voice="df_rosa")
    body = {"phonemes": "ha.", "response_format": "pcm"}
    assert server.post("/dev/generate_from_phonemes", body).status == 200
    captions = {"input": "Ha.", "response_format": "pcm", "allow_voice_tags": True}
    (word,) = server.post("/dev/captioned_speech", captions).json["timestamps"]
    assert word["voice"] == "df_rosa"


@pytest.mark.parametrize(("wanted", "letter"), [("d", "d"), ("DE", "d"), ("p", "p"), ("pt", "p")])
def test_languages_are_those_of_the_bundle(server: Server, wanted: str, letter: str) -> None:
    assert server.speak("Ha.", lang_code=wanted).body == server.expected("Ha.", language=letter)


@pytest.mark.parametrize("wanted", ["a", "en-us", "pt-br", "x", "ß" * 16])
def test_unknown_language_is_refused(server: Server, wanted: str) -> None:
    for answer, field in (
        (server.speak("Ha.", lang_code=wanted), "language"),
        (server.post("/dev/phonemize", {"text": "Ha.", "language": wanted}), "language"),
    ):
        assert (answer.status, answer.error["param"]) == (400, field)
        message = f"There is no language {wanted!r}. Choose one of d (German), p (European Portuguese)."
        assert answer.error["message"] == message


def test_phonemize_uses_the_first_language_by_default(server: Server) -> None:
    assert server.post("/dev/phonemize", {"text": "Ha."}).json["phonemes"] == "d."  # see read_letters


def test_voices_route_lists_languages(server: Server) -> None:
    listed = server.get("/v1/audio/voices").json
    assert listed["languages"] == {
        "d": {"name": "German", "tag": "de"},
        "p": {"name": "European Portuguese", "tag": "pt"},
    }
    assert [voice["language"] for voice in listed["voices"]] == ["German", "European Portuguese", "unknown"]


def test_wyoming_lists_languages(server: Server) -> None:
    languages = server.synthesizer.bundle.languages
    (program,) = describe_programs({"toy": server.synthesizer})["tts"]
    assert [voice["languages"] for voice in program["voices"]] == [["de"], ["pt"], ["de"]]
    assert find_voice("pt-PT", server.synthesizer.voices.names, languages) == "pm_joao"
    assert find_voice("en", server.synthesizer.voices.names, languages) is None
