"""kokoro-tvm say and kokoro-tvm voices."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import typer
from toy_bundle import SAMPLES, write_bundle
from typer.testing import CliRunner

import kokoro_tvm.runtime
from kokoro_tvm.cli.speak import _say, say, voices
from kokoro_tvm.common.errors import BundleError, InputError
from kokoro_tvm.runtime import Chunk, Piece, Plan, SpeechWarning, Word
from kokoro_tvm.runtime.bundle.languages import KOKORO
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document
from kokoro_tvm.runtime.documents.writers import Mark
from kokoro_tvm.runtime.speech.division import UNCUT
from kokoro_tvm.runtime.speech.words import words_of_piece


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer(pretty_exceptions_enable=False)
    made.command("say")(say.say)
    made.command("voices")(voices.voices)
    return made


class Silent:
    """A synthesizer that records its arguments; every sentence is two seconds of silence."""

    def __init__(self, requested: dict[str, Any]) -> None:
        self.requested = requested
        self.bundle = types.SimpleNamespace(sample_rate=24000, sha256="")
        self.front_end = types.SimpleNamespace(lexicon=types.SimpleNamespace(entries={}))
        self.voices = types.SimpleNamespace(own={})

    def stream(self, text: str, **options: Any) -> Any:
        self.requested.update(text=text, **options)
        skip: int = options["skip"]
        warnings.warn("espeak speaks", SpeechWarning, stacklevel=1)
        error = self.requested.get("error", BundleError("the lights went out"))
        return Sentences(text, skip, self.requested.get("fail", 99), error)

    def stream_phonemes(self, phonemes: str, **options: Any) -> Any:
        self.requested.update(phonemes=phonemes, **options)
        return Sentences(phonemes, 0, 99)


class Sentences:
    """Yield the chunks of a text, up to the one that fails."""

    plan = Plan((), "af_heart")

    def __init__(self, text: str, skip: int, fail: int, error: BaseException | None = None) -> None:
        self.text, self.skip, self.fail, self.error = text, skip, fail, error

    def __iter__(self) -> Iterator[Chunk]:
        for number, found in enumerate(re.finditer(r"[^.\s][^.]*\.", self.text)):
            if number == self.fail:
                assert self.error is not None
                raise self.error
            word = Word(found[0], *found.span(), "a", "", (78,))
            piece = Piece((word,))
            line = tuple(words_of_piece(self.plan, piece, number, number * 48000))
            audio = np.full(48000 if number >= self.skip else 0, number / 8, np.float32)
            yield Chunk(audio, 24000, number * 48000, piece, line, number >= self.skip)


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Arguments of the synthesizer."""
    requested: dict[str, Any] = {}

    def opened(path: Path, **options: Any) -> Silent:
        requested.update(bundle=path, **options)
        return Silent(requested)

    monkeypatch.setattr(kokoro_tvm.runtime, "Synthesizer", opened)
    return requested


def test_say_defaults(
    app: typer.Typer, requested: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["say", "Hello world."], catch_exceptions=False)
    assert result.exit_code == 0
    assert requested == {
        "bundle": Path("artifacts/cpu"),
        "threads": None,
        "verify": False,
        "sha256": None,
        "lexicon": None,
        "voices": None,
        "text": "Hello world.",
        "voice": None,
        "division": UNCUT,
        "speed": 1.0,
        "seed": 0,
        "ssml": None,
        "markup": True,
        "language": None,
        "omit": [],
        "skip": 0,
    }
    assert re.match(
        r"speech\.wav: 2\.00 s of speech in \d+\.\d\d s \(real-time factor \d+\.\d\d\)\n", result.stdout
    )
    assert result.stderr == "note: espeak speaks\n"
    assert (tmp_path / "speech.wav").stat().st_size > 48000 * 4


def test_say_options(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    words = ["say", "hˈI.", "--phonemes", "--voice", "af_heart,am_adam", "--speed", "1.5", "--seed", "3"]
    words += ["--bundle", "elsewhere", "--threads", "3", "--verify", "--sha256", "ab" * 32]
    words += ["--lexicon", "words.yaml", "--voices", "mine"]
    words += ["-o", str(tmp_path / "a.wav")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    assert requested == {
        "bundle": Path("elsewhere"),
        "threads": 3,
        "verify": True,
        "sha256": "ab" * 32,
        "lexicon": Path("words.yaml"),
        "voices": Path("mine"),
        "phonemes": "hˈI.",
        "voice": "af_heart,am_adam",
        "speed": 1.5,
        "seed": 3,
        "skip": 0,
    }
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


def test_say_takes_a_voice_file(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    words = ["say", "Hello.", "--voice", "./af_mine.pt", "-o", str(tmp_path / "a.wav")]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert (requested["voice"], requested["voices"]) == ("af_mine", Path("af_mine.pt"))
    result = CliRunner().invoke(app, [*words, "--voices", "mine"])
    assert str(result.exception).startswith("--voice FILE and --voices exclude each other.")


@pytest.mark.parametrize(("option", "expected"), [("--ssml", True), ("--no-ssml", False)])
def test_say_recognizes_ssml(
    app: typer.Typer, requested: dict[str, Any], tmp_path: Path, option: str, expected: bool
) -> None:
    words = ["say", "<speak>Hi.</speak>", option, "-o", str(tmp_path / "a.wav")]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert requested["ssml"] is expected


def test_say_writes_captions_and_formats(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    words = ["say", "Hello. You.", "-o", str(tmp_path / "a"), "--format", "flac"]
    words += ["--captions", str(tmp_path / "a.srt")]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert soundfile.info(tmp_path / "a").format == "FLAC"
    assert soundfile.info(tmp_path / "a").frames == 96000
    cues = (tmp_path / "a.srt").read_text()
    assert "00:00:02,000 --> 00:00:02,100\nYou." in cues


def test_say_continues_an_interrupted_document(
    app: typer.Typer, requested: dict[str, Any], tmp_path: Path
) -> None:
    book, output, captions = tmp_path / "book.md", tmp_path / "book.wav", tmp_path / "book.vtt"
    book.write_text("# One\n\nFirst. Second.\n\n# Two\n\nThird. Last.\n")
    words = ["say", "-i", str(book), "-o", str(output), "--captions", str(captions)]
    requested.update(fail=2, error=KeyboardInterrupt())
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 130
    assert "Interrupted after 4 s of speech. The same command continues there.\n" in result.stderr
    assert not output.exists() and not captions.exists()
    requested["fail"] = 99
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert requested["skip"] == 2
    assert "note: continuing after 4 s of speech" in result.stderr
    audio, _ = soundfile.read(output, dtype="float32")
    assert audio[::48000].tolist() == [0, 1 / 8, 2 / 8, 3 / 8]
    assert captions.read_text().count("-->") == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.md", "book.vtt", "book.wav"]
    CliRunner().invoke(app, words, catch_exceptions=False)
    assert requested["skip"] == 0


def test_find_marks_of_chapters(requested: dict[str, Any], tmp_path: Path) -> None:
    chapters = (Chapter("One", "A. B."), Chapter("", "C."), Chapter("Three", "D."))
    document = Document("Book", chapters)
    said = _say.speak(Sentences(document.text, 0, 99), 0, [])  # type: ignore[arg-type]
    assert _say.find_marks(document, said) == [
        Mark("One", 0, 96000),
        Mark("Part 2", 96000, 144000),
        Mark("Three", 144000, 192000),
    ]


def test_say_writes_a_file_per_chapter(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    book, folder = tmp_path / "book.md", tmp_path / "audio"
    book.write_text("# One\n\nFirst. Second.\n\n# Two: a/b\n\nThird.\n\n# Three\n\nLast.\n")
    words = ["say", "-i", str(book), "-o", str(folder), "--split", "--chapters", "1-2", "--format", "flac"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["1 One.flac", "2 Two a b.flac"]
    first, second = (soundfile.read(path)[0] for path in sorted(folder.iterdir()))
    assert (first.size, second.size) == (96000, 48000)
    assert first[::48000].tolist() == [0, 1 / 8] and second[0] == 2 / 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audio", "book.md"]


def test_say_refuses_chapters_that_are_not_there(
    app: typer.Typer, requested: dict[str, Any], tmp_path: Path
) -> None:
    book = tmp_path / "book.md"
    book.write_text("# One\n\nFirst.\n\n# Two\n\nSecond.\n")
    for numbers in ("3", "0", "2-1", "x"):
        with pytest.raises(InputError, match=r"There are no chapters .* of these: 1 One, 2 Two"):
            CliRunner().invoke(app, ["say", "-i", str(book), "--chapters", numbers], catch_exceptions=False)


def test_say_resamples(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    for name, rate in (("a.wav", 48000), ("a.flac", 16000)):
        words = ["say", "Hello. You.", "-o", str(tmp_path / name), "--sample-rate", str(rate)]
        assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
        assert soundfile.info(tmp_path / name).samplerate == rate
        assert abs(soundfile.info(tmp_path / name).frames - 4 * rate) <= 2
    words = ["say", "Hello. You.", "-o", str(tmp_path / "a.ulaw")]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert abs((tmp_path / "a.ulaw").stat().st_size - 4 * 8000) <= 2
    with pytest.raises(InputError, match="sample rate 7 is not supported"):
        CliRunner().invoke(app, [*words, "--sample-rate", "7"], catch_exceptions=False)


def test_say_plays(
    app: typer.Typer, requested: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    player = types.SimpleNamespace(write=lambda audio: heard.append(audio.size), close=heard.append)
    monkeypatch.setattr("kokoro_tvm.runtime.documents.playing.open_player", lambda rate: player)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["say", "Hello. You.", "--play"], catch_exceptions=False)
    assert heard == [48000, 48000, True]
    assert result.stdout.startswith("played: 4.00 s of speech")
    assert list(tmp_path.iterdir()) == []
    requested["fail"] = 1
    with pytest.raises(BundleError):
        CliRunner().invoke(app, ["say", "Hello. You.", "--play"], catch_exceptions=False)
    assert heard[3:] == [48000, False]


def test_say_writes_to_a_pipe_during_synthesis(
    app: typer.Typer, requested: dict[str, Any], tmp_path: Path
) -> None:
    """So does a document; no file is left beside the pipe."""
    pipe, document = tmp_path / "pipe", tmp_path / "a.txt"
    document.write_text("Hello. You.")
    os.mkfifo(pipe)
    data: list[bytes] = []
    reader = threading.Thread(target=lambda: data.append(pipe.read_bytes()), daemon=True)
    reader.start()
    requested["fail"] = 1
    with pytest.raises(BundleError):
        CliRunner().invoke(app, ["say", "-i", str(document), "-o", str(pipe)], catch_exceptions=False)
    reader.join(20)
    (tmp_path / "half.wav").write_bytes(data[0])
    assert soundfile.read(tmp_path / "half.wav")[0].size == 48000, "what was spoken before it failed"
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "half.wav", "pipe"]


def test_say_writes_the_target_of_a_link(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for link, target in (("a.wav", "b.wav"), ("a.srt", "b.srt")):
        (tmp_path / link).symlink_to(Path("there") / target)
    document = tmp_path / "a.txt"
    document.write_text("Hello. You.")
    words = ["say", "-i", str(document), "-o", str(tmp_path / "a.wav"), "--captions", str(tmp_path / "a.srt")]
    CliRunner().invoke(app, words, catch_exceptions=False)
    assert soundfile.info(tmp_path / "there" / "b.wav").frames == 96000
    assert sorted(path.name for path in tmp_path.rglob("*") if not path.is_symlink()) == [
        *("a.txt", "b.srt", "b.wav", "there"),
    ]


STANDARD_OUTPUT = """
import sys
from kokoro_tvm.cli import main
from kokoro_tvm.runtime import Synthesizer, Voices, read_bundle
from toy_bundle import FakeRunner
import kokoro_tvm.runtime
def opened(path, **options):
    bundle = read_bundle(path)
    return Synthesizer.from_parts(bundle, FakeRunner(), Voices.open(bundle))
kokoro_tvm.runtime.Synthesizer = opened
main(["say", "abc. de.", "--phonemes", "--bundle", sys.argv[1], "-o", "-", *sys.argv[2:]])
"""


def spoken(bundle: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own, with numpy instead of compiled code."""
    words = [sys.executable, "-c", STANDARD_OUTPUT, str(bundle), *options]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONPATH": paths})


@pytest.mark.parametrize("options", [(), ("--format", "flac")])
def test_say_writes_wav_to_standard_output(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = spoken(write_bundle(tmp_path / "bundle"), *options)
    assert (done.returncode, done.stderr.startswith(b"-: 0.0")) == (0, True), done.stderr
    audio, rate = soundfile.read(io.BytesIO(done.stdout))
    assert (rate, audio.size % SAMPLES) == (24000, 0)
    assert audio.size and np.abs(audio).max() > 0


def test_say_ends_quietly_if_the_reader_is_gone(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle")
    done = subprocess.run(
        ["sh", "-c", '"$@" >/dev/full', "sh", sys.executable, "-c", STANDARD_OUTPUT, str(bundle)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 2
    assert done.stderr == b"Standard output cannot be written: No space left on device. Name another file.\n"


def test_say_reads_standard_input(app: typer.Typer, requested: dict[str, Any], tmp_path: Path) -> None:
    words = ["say", "-", "-o", str(tmp_path / "a.wav")]
    CliRunner().invoke(app, words, input="Héllo\nthere.", catch_exceptions=False)
    assert requested["text"] == "Héllo\nthere."


def test_say_refuses_standard_input_that_is_not_utf8(
    requested: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"\xff\xfe")))
    with pytest.raises(InputError, match="not UTF-8"):
        say.say("-", output=tmp_path / "a.wav")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file": Path("a.txt")}, "exclude each other"),
        ({"captions": Path("a.doc")}, "captions are written as"),
        ({"captions": Path("no/a.srt")}, "does not exist"),
        ({"output": Path("a.xyz")}, "audio is written as"),
        ({"format": "aiff"}, "audio is written as"),
    ],
)
def test_say_refuses_wrong_options_first(
    requested: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        say.say("Hi.", **options)
    assert requested == {}


def test_say_refuses_an_output_that_cannot_be_written(requested: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        say.say("Hi.", output=tmp_path / "no" / "a.wav")
    assert requested == {}


@pytest.mark.parametrize("options", [{"speed": 0.0}, {"speed": float("nan")}, {"speed": -1.0}, {"seed": -1}])
def test_say_refuses_wrong_numbers_first(
    requested: dict[str, Any], tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"The {next(iter(options))} should be"):
        say.say("Hi.", output=tmp_path / "a.wav", **options)
    assert requested == {}


def test_say_restores_warnings(requested: dict[str, Any], tmp_path: Path) -> None:
    before = warnings.showwarning
    say.say("Hi.", output=tmp_path / "a.wav")
    assert warnings.showwarning is before


def test_say_writes_nothing_without_a_bundle(app: typer.Typer, tmp_path: Path) -> None:
    for command in (["say", "Hi.", "-o", str(tmp_path / "a.wav")], ["voices"]):
        result = CliRunner().invoke(app, [*command, "--bundle", str(tmp_path / "none")])
        assert isinstance(result.exception, BundleError)
        assert "does not exist" in str(result.exception)
    assert not list(tmp_path.iterdir())


def _no_files(refs: object) -> contextlib.nullcontext[dict[None, None]]:
    return contextlib.nullcontext({None: None})


def test_voices_lists_language_and_gender(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = kokoro_tvm.runtime.Voices(
        {name: np.zeros((510, 256), np.float32) for name in ("zm_yunxi", "af_heart")}
    )
    opened = types.SimpleNamespace(voices=None, languages=KOKORO)
    monkeypatch.setattr(kokoro_tvm.runtime, "read_bundle", lambda path: opened)
    monkeypatch.setattr(
        "kokoro_tvm.runtime.bundle.files.OpenFiles", lambda refs: contextlib.nullcontext({None: None})
    )
    monkeypatch.setattr("kokoro_tvm.runtime.bundle.verification.verify_files", lambda files: None)
    monkeypatch.setattr(kokoro_tvm.runtime.Voices, "open", classmethod(lambda cls, bundle, file: tables))
    result = CliRunner().invoke(app, ["voices"], catch_exceptions=False)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines == [
        ["af_heart", "American", "English", "female"],
        ["zm_yunxi", "Mandarin", "Chinese", "male"],
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["-i", "a.srt", "--captions", "a.srt"],
        ["-i", "a.srt", "--captions", "link.srt"],
        ["-i", "a.srt", "--captions", "hard.srt"],
        ["-i", "a.srt", "--captions", "./folder/../a.srt"],
        ["-i", "a.srt", "-o", "a.srt", "--format", "wav"],
        ["-i", "a.srt", "-o", "new.json", "--format", "wav", "--captions", "new.json"],
        ["-i", "a.srt", "-o", "a.wav", "--lexicon", "lexicon.json", "--captions", "lexicon.json"],
        ["-i", "plan.json", "--save-plan", "plan.json"],
    ],
)
def test_say_refuses_one_file_for_two_uses(
    words: list[str], app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = "1\n00:00:01,000 --> 00:00:02,000\nHello.\n"
    for name in ("a.srt", "lexicon.json", "plan.json"):
        Path(name).write_text(content)
    Path("folder").mkdir()
    Path("link.srt").symlink_to("a.srt")
    os.link("a.srt", "hard.srt")
    before = sorted(Path().iterdir())
    with pytest.raises(InputError, match=r"is to be written, and is (read|written) as"):
        CliRunner().invoke(app, ["say", *words], catch_exceptions=False)
    assert sorted(Path().iterdir()) == before
    assert Path("a.srt").read_text() == content
