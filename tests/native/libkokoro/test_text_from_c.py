"""The front end in C compared with Python: characters, expressions, written forms, tokens, pieces, speech."""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import subprocess
import sys
import unicodedata
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import front_end_vectors
import numpy as np
import pytest
from c_readings import drawn_passages
from calls import Speaker
from examples import examples
from toy_bundle import edit_manifest

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.model.front_end.expressions import language_arrays
from kokoro_tvm.model.kokoro import SHIPPED_CONFIG
from kokoro_tvm.model.safetensors_file import write_arrays
from kokoro_tvm.native.libkokoro.generated import expressions
from kokoro_tvm.runtime import SpeechWarning, write_wav
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.notices import Notice
from kokoro_tvm.runtime.speech.division import DIVISION, Division
from kokoro_tvm.runtime.speech.joins import Pauses, fade_in, fade_out, mute, muted_spans
from kokoro_tvm.runtime.speech.piece import Piece
from kokoro_tvm.runtime.speech.planning import Style, plan_pieces
from kokoro_tvm.runtime.speech.sentences import sentences_of_text
from kokoro_tvm.runtime.text.frontend import front_end as front_end_module
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES, normalize
from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules
from kokoro_tvm.runtime.text.frontend.packages import ESPEAK
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.markup import MarkupVocabulary
from kokoro_tvm.runtime.text.markup.omissions import OMISSIONS
from kokoro_tvm.validation.measure.text_from_c import format_words

VOCABULARY: dict[str, int] = json.loads(SHIPPED_CONFIG.read_text(encoding="utf-8"))["vocab"]
MOST = {"tokens": 160, "frames": 600}
SPEED, SAMPLES_PER_FRAME, RATE = 0.9, 600, 24_000
MODEL = " ".join(f"{ord(symbol):x} {number}" for symbol, number in VOCABULARY.items())
LONG = [  # what a text repeats, that something has to do with
    *(
        "<",
        "a@",
        "1,",
        "*a",
        "([",
        "&#",
        "a.",
        " ",
        "\n",
        "e\u0301",
        "😀\u200d",
        "- a\n",
        "1. ",
        "A ",
        "‘",
        "-",
        "http://a.",
    ),
    *("$1 ", "1/2", "_", "[a", "III ", "...", "! ", "é"),
]


@dataclass(frozen=True)
class Reader:
    """The program that reads texts with a front-end file."""

    program: Path
    file: Path

    def __call__(self, lines: Iterable[str], code: str = "a", language: str = "en") -> list[Any]:
        """Return the output for lines; `language` selects written forms that libkokoro does not speak."""
        command = [str(self.program), str(self.file), code, language]
        text = "\n".join(lines) + "\n"
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line]


def hexadecimal(text: str) -> str:
    return " ".join(f"{ord(char):x}" for char in text)


@pytest.fixture(scope="module")
def read(text_program: Path, front_end_files: Path) -> Reader:
    return Reader(text_program, front_end_files / "front_end.safetensors")


@pytest.fixture(scope="module")
def front_end(front_end_files: Path) -> Iterator[FrontEnd]:
    """Return Python's front end without espeak-ng."""
    guesser = functools.partial(UnknownWordReader, espeak=False)
    with mock.patch.object(front_end_module, "UnknownWordReader", guesser):
        yield FrontEnd(FrontEndFile.open(front_end_files / "front_end.safetensors"))


def message(text: str) -> str:
    """Return a notice without the parts that only Python has."""
    packages = " ".join(ESPEAK.modules)
    python = f"Install espeak-ng (`pip install {packages}`) or give their phonemes, [word](/phonemes/)."
    return text.replace(python, "Give their phonemes.")


def test_characters_match_python(read: Reader) -> None:
    """What each of all characters is, by Python's tables."""
    chars = [chr(c) for c in range(0x110000)]
    tests = (str.isalpha, str.isalnum, str.isupper, str.islower, str.isprintable, str.isspace)
    tests += (str.isdecimal, str.isdigit)
    sums = [zlib.adler32(bytes(map(test, chars))) for test in tests]
    for number in (unicodedata.decimal, unicodedata.digit):
        sums.append(zlib.adler32(bytes(number(char, -1) & 255 for char in chars)))
    sums.append(zlib.adler32("".join(map(unicodedata.category, chars)).encode()))
    assert read(["chars"]) == [sums]


def test_cases_and_normal_forms_match_python(read: Reader) -> None:
    chars = [
        char for char in map(chr, range(0x110000)) if unicodedata.category(char) not in ("Cn", "Co", "Cs")
    ]
    texts = ["".join(chars[place : place + 400]) for place in range(0, len(chars), 400)]
    marks = [char for char in chars if unicodedata.combining(char)]
    draw = random.Random(4)
    for _ in range(examples(800)):  # a final sigma, and marks in any order
        some = [*draw.choices("aΣσ'.\u00ad A1\u0345가ᄀ\u1161\u11a8ﬁİ", k=6), *draw.choices(marks, k=4)]
        draw.shuffle(some)
        texts.append("".join(some))
    forms = [functools.partial(unicodedata.normalize, form) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    requested = [[t.lower(), t.upper(), t.capitalize(), *(form(t) for form in forms)] for t in texts]
    assert read(f"cases:{hexadecimal(text)}" for text in texts) == requested


def test_expressions_match_python(read: Reader) -> None:
    found_in = [expression for _, expression in expressions()]
    texts = [text for text, _ in front_end_vectors.drawn(examples(400), seed=5)]
    texts += ["sitting ticking", "{a|b:c}[x]", "←%x← →→→ [→→] =%a= $(cardinal,one{a}other{b})$", *LONG]
    texts += [part * 30 for part in LONG]
    asked = [(number, text) for number in range(len(found_in)) for text in texts]
    result = read(f"find:{number}:{hexadecimal(text)}" for number, text in asked)
    for (number, text), matches in zip(asked, result, strict=True):
        expression = found_in[number]
        requested = [
            [edge for group in range(expression.groups + 1) for edge in match.span(group)]
            for match in expression.finditer(text)
        ]
        assert matches == requested, (expression, text)


def written(language: LanguageRules, texts: list[str], english: EnglishFrontEnd | None) -> list[Any]:
    names, tag = english is not None, english.find_tags if english else None
    normal = [normalize(SourceText.of(text), language, names=names, tag=tag) for text in texts]
    return [[n.source.text, list(n.source.starts), list(n.source.ends), list(n.notices)] for n in normal]


@pytest.mark.nightly
@pytest.mark.parametrize(("code", "name"), LANGUAGE_FILES.items())
def test_written_forms_match_python(
    text_program: Path, read: Reader, tmp_path: Path, code: str, name: str
) -> None:
    """Languages without speech in libkokoro are included; their rules are compiled here."""
    forms = FrontEndFile.open(read.file).forms(name)
    assert forms is not None
    arrays = map_safetensors(read.file) | language_arrays(name, forms)
    widest_first = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    write_arrays(tmp_path / "front_end", dict(widest_first), {})
    texts = list(front_end_vectors.texts_of(name))
    result = Reader(text_program, tmp_path / "front_end")(
        (f"normal:{hexadecimal(t)}" for t in texts), code, name
    )
    data = FrontEndFile.open(read.file).english(code == "b")
    english = EnglishFrontEnd(data, code == "b") if code in "ab" else None
    assert result == written(LanguageRules(forms, code), texts, english)


@pytest.mark.parametrize("part", LONG)
def test_reading_time_is_linear(read: Reader, part: str) -> None:
    """Expressions take about twice the steps for twice the text."""
    few, many = read(f"steps:{hexadecimal(part * count)}" for count in (2_000, 4_000))
    assert many < 2.2 * few + 1000


def texts_of_pieces(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the texts, and groups of twelve as lines and as one line, without NUL."""
    groups = [texts[place : place + 12] for place in range(0, len(texts), 12)]
    joined = [(mark.join(text for text, _ in group), group[0][1]) for group in groups for mark in ("\n", " ")]
    result = [(text.encode("utf-8", "replace").decode(), code) for text, code in [*texts, *joined]]
    return [(text.replace("\0", ""), code) for text, code in result]


def texts_of_sounds(count: int) -> list[tuple[str, str]]:
    """Return texts of languages that are read by their sounds, with English words in them."""
    result = []
    for code in "efhip":
        texts = random.Random(code).sample([*front_end_vectors.texts_of(LANGUAGE_FILES[code])], count)
        result += [
            (text.replace("\0", ""), code) for text in [*texts, "OK, Google — ɐ, Ӕ ñɏ «a». 👍 iPhone's"]
        ]
    return result


def as_notice(notice: str) -> Notice:
    return notice if isinstance(notice, Notice) else Notice(notice)


def check_reading(read: Reader, front_end: FrontEnd, texts: list[tuple[str, str]]) -> None:
    for code in sorted({code for _, code in texts}):
        own = [text for text, other in texts if other == code]
        for text, result in zip(own, read((f"read:{hexadecimal(t)}" for t in own), code), strict=True):
            reading = front_end.read(SourceText.of(text), code)
            tokens = [
                [[t.text, t.start, t.end, t.phonemes, t.space, t.tag, t.origin] for t in utterance.tokens]
                for utterance in reading.utterances
            ]
            words = [list(dict.fromkeys(notice.words)) for notice in map(as_notice, reading.notices)]
            assert result == [tokens, list(map(message, reading.notices)), words], text


def test_tokens_match_python(read: Reader, front_end: FrontEnd) -> None:
    """Compare texts, places, phonemes, spaces, tags, origins and notices."""
    check_reading(
        read, front_end, [(text, code) for text, code in front_end_vectors.few_texts() if code in "ab"]
    )


def test_tokens_match_python_in_five_more_languages(read: Reader, front_end: FrontEnd) -> None:
    check_reading(read, front_end, texts_of_sounds(examples(160)))


@pytest.mark.nightly
def test_tokens_match_python_on_thousands_of_texts(read: Reader, front_end: FrontEnd) -> None:
    check_reading(read, front_end, front_end_vectors.many_texts())


def finished(piece: Piece) -> int:
    """Return the checksum of a piece whose decoded audio is ones."""
    audio = np.ones(piece.utterance.frames * SAMPLES_PER_FRAME, np.float32)
    mute(audio, muted_spans(piece, SAMPLES_PER_FRAME, RATE), RATE)
    before, after = piece.cut(SAMPLES_PER_FRAME)
    audio = audio[before : audio.size - after]
    if before:
        fade_in(audio, RATE)
    if after:
        fade_out(audio, RATE)
    return zlib.adler32(np.concatenate([audio, np.zeros(piece.pause, np.float32)]).tobytes())


def planned(
    front_end: FrontEnd, text: str, code: str, markup: bool = False, omit: Collection[str] = ()
) -> tuple[list[Any], list[str]]:
    """Return pieces, a possible error after them, and notices."""
    model: Any = front_end_vectors._Model(VOCABULARY, MOST)
    style = Style(lambda voice: np.zeros((1 << 16, 2), np.float32), SPEED, Pauses(), Division())
    known = MarkupVocabulary(frozenset(VOCABULARY), lambda voice: code)
    target: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            sentences = sentences_of_text(text, known, front_end, markup=markup, omitted=omit)
            for entry in plan_pieces(model, sentences, style):
                piece = entry.piece
                words = [
                    json.loads(json.dumps(list(map(front_end_vectors.word_row, part))))
                    for part in (piece.before, piece.words, piece.after)
                ]
                keep = [-1 if samples is None else samples for samples in piece.keep]
                rest = [piece.style + 1, piece.noise, piece.lead, piece.tail, keep, piece.pause, piece.voice]
                target.append([*words, rest, finished(piece)])
        except InputError as error:
            target.append({"error": str(error)})
    shown = front_end_vectors.message if markup else message
    return target, [shown(str(entry.message)) for entry in caught]


def check_plans(
    read: Reader, front_end: FrontEnd, texts: list[tuple[str, str]], markup: bool = False
) -> None:
    model = f"model:{SPEED} {MOST['tokens']} {MOST['frames']} {MODEL}"
    for code in sorted({code for _, code in texts}):
        own = [text for text, other in texts if other == code]
        command = "markup:0" if markup else "plan"
        result = read([model, *(f"{command}:{hexadecimal(text)}" for text in own)], code)
        for text, (pieces, notices) in zip(own, result, strict=True):
            requested, said = planned(front_end, text, code, markup)
            assert pieces == requested, text
            if not (requested and "error" in requested[-1]):  # which is all that there is to say
                assert notices == said, text


def test_pieces_match_python_in_five_more_languages(read: Reader, front_end: FrontEnd) -> None:
    check_plans(read, front_end, texts_of_pieces(texts_of_sounds(examples(40))))


def bracketed(source: SourceText) -> str:
    """Return a text with its links as brackets; an alias is left out."""
    parts, end = [], 0
    for link in source.links:
        request = (
            f"/{link.phonemes}/"
            if link.phonemes
            else f"#{link.flags}#"
            if link.flags
            else f"{link.stress or 1:g}"
        )
        parts += [source.text[end : link.start], f"[{source.text[link.start : link.end]}]({request})"]
        end = link.end
    return "".join((*parts, source.text[end:]))


@pytest.mark.parametrize("code", "abefhip")
def test_links_match_python_in_seven_languages(read: Reader, front_end: FrontEnd, code: str) -> None:
    texts = [(bracketed(source), code) for source in drawn_passages(code, examples(30))]
    check_plans(read, front_end, [(text.replace("\0", ""), code) for text, code in texts], markup=True)


def test_pieces_match_python(read: Reader, front_end: FrontEnd) -> None:
    """Compare words, durations, places, silences, remaining audio and errors."""
    check_plans(read, front_end, texts_of_pieces(front_end_vectors.few_texts()[1::3]))


FORMULAS = [
    r"So $x^2 - y_{max}$ and \frac{1}{2} of $5 and $10 [3, 4].",
    r"$\frac{-b \pm \sqrt{b^2-4ac}}{2a}$ (Lee et al., 2019, p. 5; Roe 2020) is known [12].",
    r"\[\int_0^1 f(t)\,dt = \sqrt[3]{8}\] and $$\sum_{i=1}^n i^{n+1}$$ with $\lim_{x\to 0} \sin x$.",
    r"\begin{align*} a &= b \\ c &= d \end{align*} Then $f'(x) = e^{i\pi}$, $90^\circ$, $\text{a b} \geq -3$",
    "Use `a = $b$` now.\n```py\ncode $x$\n```\nDone.[^1] Word¹ and m².²\n\n[^1]: A note\n  goes on.\nEnd",
    r"$x^{x^{x}} \unknown{a} } b$ and \(\left( a \right)\) \alpha\beta \binom{n}{k} $\mathbb{R} \cup A$",
    "A [pause:1s] $a+b$ [voice:] `c` [1](/a/) [2] (see 2020) $ 5 $ \\",
]


@pytest.mark.parametrize("size", [0, 1, 5])
def test_omissions_match_python(read: Reader, front_end: FrontEnd, size: int) -> None:
    """Compare formulas and what is left out, for a text in portions of `size`."""
    model = f"model:{SPEED} {MOST['tokens']} {MOST['frames']} {MODEL}"
    for command, kinds in (("markup", ()), ("omit", tuple(OMISSIONS))):
        result = read([model, *(f"{command}:{size}:{hexadecimal(text)}" for text in FORMULAS)])
        for text, (pieces, notices) in zip(FORMULAS, result, strict=True):
            expected, said = planned(front_end, text, "a", True, kinds)
            assert pieces == expected, text
            assert notices == said, text


@pytest.mark.nightly
def test_pieces_match_python_on_thousands_of_texts(read: Reader, front_end: FrontEnd) -> None:
    check_plans(read, front_end, texts_of_pieces(front_end_vectors.many_texts()))


@pytest.mark.parametrize(
    ("count", "every"), [(1_000, 25), pytest.param(1_000_000, 50, marks=pytest.mark.nightly)]
)
def test_random_texts_are_read_or_refused(read: Reader, count: int, every: int) -> None:
    """Under the address and undefined-behaviour sanitizers; of one in `every`, the speech is planned."""
    (refused,) = read([f"model:1 160 600 {MODEL}", f"fuzz:{count} {every}"])
    assert refused < count / every / 4


@pytest.mark.parametrize(
    ("count", "every"), [(3_000, 50), pytest.param(1_000_000, 100, marks=pytest.mark.nightly)]
)
def test_random_documents_are_parsed_or_refused(read: Reader, count: int, every: int) -> None:
    """SSML and brackets in random portions, which change nothing; one in `every` is planned."""
    (refused,) = read([f"model:1 160 600 {MODEL}", f"ssml:{count} {every}"])
    assert count / 2 < refused < count


TEXTS = [
    ("Hello.", "af_heart", 1.0),
    ("A bad “cab” — no deal!\n\nA café, 2 kg: a lot… He came home. I ate.", "bf_emma", 1.5),
    ("😀 A new day. " * 4, "af_heart,bf_emma", 2.0),
    ("Hola. 2 €, y adiós…", "ef_dora", 1.0),
]


MARKED = [
    ("[pause:0.2s] Hello. [pause:1s] [rate:1.5]A new[rate:] [voice:bf_emma]colour[voice:].", "af_heart", 1.0),
    (
        "<speak>A <prosody rate='120%' pitch='+10%'>new day</prosody>, <s>I ate.</s><break/> A café.</speak>",
        "bf_emma",
        1.5,
    ),
]


@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
@pytest.mark.parametrize(("text", "voice", "speed"), [*TEXTS, *MARKED])
def test_pieces_of_speech_match_python(
    speaker: Speaker, talking: Path, front_end: FrontEnd, text: str, voice: str, speed: float
) -> None:
    """Compare audio bit for bit, and places of words."""
    markup = (text, voice, speed) in MARKED
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SpeechWarning)
        tts = Synthesizer(talking, threads=2)
        speech = tts(text, voice=voice, speed=speed, seed=7, division=DIVISION, markup=markup)
    write_wav(speaker.folder / "expected.wav", speech.audio, speech.sample_rate)
    options = ["--words", *(["--markup"] if markup else [])]
    result = speaker(talking, text, "--voice", voice, "--speed", repr(speed), *options, seed=7)
    assert result.status == 0, result.errors
    assert speech.plan is not None
    assert result.lines == "\n".join(format_words(speech.plan)).splitlines()
    notices = "\n".join(message(str(entry.message)) for entry in caught)
    assert result.errors.replace("speak: ", "").rstrip("\n") == notices
    assert result.wav == (speaker.folder / "expected.wav").read_bytes()


@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
def test_say_text_matches_python(
    built: Path, tvm: Path, talking: Path, front_end: FrontEnd, tmp_path: Path
) -> None:
    """Call `kokoro_say_text` by ctypes with a first utterance that a stream cuts."""
    text, voice, speed = "A bad cab came home, a good dog ran.", "bf_emma", 1.5
    bundle = Path(shutil.copytree(talking, tmp_path / "bundle"))
    edit_manifest(bundle, lambda manifest: manifest.update(sample_rate=240))  # 60 frames are 2.5 s
    tts = Synthesizer(bundle, threads=1)
    speech = tts(text, voice=voice, speed=speed, seed=7, markup=False)
    assert next(tts.stream(text, voice, speed, markup=False)).piece.after
    say = Path(__file__).parent / "bindings" / "say.py"
    arguments = [built / "libkokoro.so", bundle, text, voice, speed, 7, tmp_path / "audio.f32"]
    environment = os.environ | {"TVM_LIBRARY_PATH": str(tvm)}
    command = [sys.executable, *map(str, [say, *arguments])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert speech.plan is not None
    assert done.stdout.splitlines() == "\n".join(format_words(speech.plan)).splitlines()
    assert (tmp_path / "audio.f32").read_bytes() == speech.audio.tobytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((" \n",), "There is nothing to speak: the text is empty."),
        (("… 。",), "There is nothing to speak: '…' has no letter or digit."),
        ((b"a\xffb",), "The text is no UTF-8: byte 2 is no part of a character. Convert it to UTF-8 first."),
        (("a", "--voice", "jf_alpha"), "libkokoro reads no Japanese text. Give phonemes, or a voice of"),
        (("a", "--noise", "x"), "a text is spoken in a voice, with a seed"),
        (("Supercalifragilistic" * 8,), "cannot be divided, because it has no place to divide it at"),
    ],
)
def test_say_text_refuses_what_python_refuses(
    speaker: Speaker, talking: Path, words: tuple[Any, ...], expected: str
) -> None:
    result = speaker(talking, *words)
    assert result.status == 2
    assert expected in result.errors


def test_say_text_refuses_a_bundle_without_a_front_end(
    speaker: Speaker, compiled: Callable[[str], Path]
) -> None:
    result = speaker(compiled("exact"), "Hello.")
    assert result.status == 2
    assert "has no front end, so that it speaks phonemes alone." in result.errors
