"""libkokoro's English compared with Python's, under sanitizers: tokens, tags, phonemes, origins."""

from __future__ import annotations

import random
import subprocess
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import front_end_vectors
import pytest
from examples import examples

from kokoro_tvm.runtime.text.frontend.data import EnglishData, FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.lexicon import FollowingSound, Lexicon
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.validation.reference.phonemes import sentences

PROGRAM = Path(__file__).parent / "programs" / "english.c"
ORIGINS = ("", "lexicon", "names", "letters", "spelled", "mark")
VOWELS = {-1: None, 0: False, 1: True}
STRESSES = (None, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)  # in the order of source.h
SPECIAL = """
a A am Am AM an AN i I by By BY to To TO in In IN the The THE used Used USED . / % & + @
vs VS. vſ Vs. vs.. U.S. e.g a.b. abc.d .. K İ ß ŉ ' s' US IT Σ ΑΣ 'TIS
"""

Ask = Callable[[Path, str, Iterable[str]], list[str]]


@pytest.fixture(scope="session")
def ask(sanitized: Callable[[Path], Path]) -> Ask:
    """Return a function that sends lines to the program `english`."""
    program = sanitized(PROGRAM)

    def ask(file: Path, code: str, lines: Iterable[str]) -> list[str]:
        command = [str(program), str(file), code]
        sent = "".join(f"{line}\n" for line in lines).encode()
        done = subprocess.run(command, input=sent, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout[-500:] + done.stderr).decode(errors="replace")
        return done.stdout.decode("utf-8", "surrogatepass").split("\x1d\n")[:-1]

    return ask


@pytest.fixture
def file(front_end_files: Path) -> Path:
    return front_end_files / "front_end.safetensors"


def data_of(file: Path, code: str) -> EnglishData:
    return FrontEndFile.open(file).english(code == "b")


def coded(text: str) -> str:
    return " ".join(f"{ord(char):x}" for char in text)


def spelled(tokens: Iterable[Token]) -> str:
    """Format code points as the program reads them."""
    rows = ((t.text, t.start, t.end, t.phonemes, t.space, t.tag, ORIGINS.index(t.origin)) for t in tokens)
    return "".join("\x1f".join(map(str, row)) + "\x1e" for row in rows)


def read_alike(ask: Ask, file: Path, code: str, texts: Sequence[str]) -> None:
    data = data_of(file, code)
    english = EnglishFrontEnd(data, code == "b", UnknownWordReader(data, code == "b", espeak=False))
    result = ask(file, code, (f"text:{coded(text)}" for text in texts))
    for text, line in zip(texts, result, strict=True):
        assert line == spelled(english.convert(SourceText.of(text))), text


@pytest.mark.parametrize("code", "ab")
def test_read_english_matches_python_on_gate_samples(ask: Ask, file: Path, code: str) -> None:
    read_alike(ask, file, code, random.Random(code).sample(sentences(), examples(60)))


@pytest.mark.nightly
@pytest.mark.parametrize("code", "ab")
def test_read_english_matches_python_on_the_gate(ask: Ask, file: Path, code: str) -> None:
    read_alike(ask, file, code, sentences())


def odd_texts(data: EnglishData, count: int) -> list[str]:
    """Draw texts of tokenizer exceptions, homographs, marks and random characters."""
    draw = random.Random(5)
    assert data.homographs is not None
    parts = [*data.tokenizer.exceptions, *data.homographs.words, *SPECIAL.split()]

    def part() -> str:
        if draw.random() < 0.6:
            return draw.choice((str, str, str.upper, str.capitalize))(draw.choice(parts))
        return "".join(chr(draw.randrange(*draw.choice(((32, 127), (0xA0, 0x3100))))) for _ in range(4))

    joints = (" ", " ", " ", "", "-", "'", ".", "  ", "\n", ", ", "\N{NO-BREAK SPACE}")
    drawn = [[part() + draw.choice(joints) for _ in range(draw.randrange(1, 16))] for _ in range(count)]
    fragments = (text.replace("\0", "") for text, _ in front_end_vectors.drawn(count, seed=11))
    return [*map("".join, drawn), *fragments]


@pytest.mark.parametrize("code", "ab")
def test_read_english_matches_python_on_odd_texts(ask: Ask, file: Path, code: str) -> None:
    read_alike(ask, file, code, odd_texts(data_of(file, code), examples(100)))


@pytest.mark.parametrize("unit", ["中1", "a@", "'s", "aB", "X ", "-", "(¬_¬)", "x"])
def test_read_english_matches_python_on_long_words(ask: Ask, file: Path, unit: str) -> None:
    read_alike(ask, file, "a", [unit * 150])


def forms_of(word: str) -> list[str]:
    """Return a word with the endings that the rules know."""
    endings = ("", "s", "'s", "s'", "'", "es", "d", "ed", "ing", word[-1] + "ing")
    forms = [word + ending for ending in endings]
    forms += [word[:-1] + "ing", word[:-1] + "ies", ".".join(word), word[::-1]]
    return [*forms, word.upper(), word.capitalize(), word.upper() + "s", word.swapcase()]


def words_alike(ask: Ask, file: Path, code: str, words: Sequence[str], per_word: int) -> None:
    """Draw forms of words with parts of speech, stresses and contexts."""
    data = data_of(file, code)
    lexicon = Lexicon(data.gold, data.silver, code == "b")
    draw = random.Random(7)
    tags = [tag for tag in data.tagger.labels if tag != ":"]
    cases = [
        (form, draw.choice(tags), draw.choice((-1, 0, 1)), draw.random() < 0.3, draw.randrange(len(STRESSES)))
        for word in words
        for form in (word, *draw.choices(forms_of(word), k=per_word))
    ]
    lines = (f"word:{tag}:{vowel}:{to:d}:{stress}:{coded(word)}" for word, tag, vowel, to, stress in cases)
    result = ask(file, code, lines)
    for (word, tag, vowel, to, stress), line in zip(cases, result, strict=True):
        phonemes = lexicon.read(word, tag, FollowingSound(VOWELS[vowel], to), STRESSES[stress])
        assert line == ("-" if phonemes is None else phonemes) + "\x1f", (word, tag, vowel, to, stress)


def lexicon_words(data: EnglishData) -> list[str]:
    return [word for dictionary in (data.gold, data.silver) for word, _ in dictionary.items()]


@pytest.mark.parametrize("code", "ab")
def test_read_word_matches_python_on_lexicon_samples(ask: Ask, file: Path, code: str) -> None:
    words = random.Random(code).sample(lexicon_words(data_of(file, code)), examples(500))
    words_alike(ask, file, code, [*words, *SPECIAL.split() * 20], 2)


@pytest.mark.nightly
@pytest.mark.parametrize("code", "ab")
def test_read_word_matches_python_on_the_lexicon(ask: Ask, file: Path, code: str) -> None:
    words_alike(ask, file, code, lexicon_words(data_of(file, code)), 6)


@pytest.mark.parametrize("code", "ab")
def test_guess_matches_python(ask: Ask, file: Path, code: str) -> None:
    data = data_of(file, code)
    guess = UnknownWordReader(data, code == "b", espeak=False)
    draw = random.Random(9)
    letters = "abcdefghijklmnopqrstuvwxyzaeiouyt" + "éüñÀß'-.9ℐﬁ"
    words = ["".join(draw.choices(letters, k=draw.randrange(1, 14))) for _ in range(examples(400))]
    for word, line in zip(words, ask(file, code, (f"letters:{coded(w)}" for w in words)), strict=True):
        result = guess(word)
        assert line.startswith("-" if result is None else f"{result[0]}\x1f{ORIGINS.index(result[1])}"), word


def test_inflate_unpacks_zlib_data(ask: Ask, file: Path) -> None:
    draw = random.Random(3)
    plain = [
        bytes(draw.choices(range(kinds), k=draw.randrange(4096))) * draw.randrange(1, 4)
        for kinds in (1, 2, 5, 40, 256)
        for _ in range(examples(20))
    ]
    lines, requested = [], []
    for data in plain:
        packer = zlib.compressobj(draw.randrange(10), wbits=-15, strategy=draw.choice((0, 1, 2, 3, 4)))
        packed = packer.compress(data) + packer.flush(draw.choice((zlib.Z_FULL_FLUSH, zlib.Z_FINISH)))
        lines.append(f"inflate:{len(data):x} {packed.hex(' ')}")
        requested.append(f"{len(data)}:{data.hex()}")
    assert ask(file, "a", lines) == requested


def test_inflate_bounds_damaged_data(ask: Ask, file: Path) -> None:
    draw = random.Random(4)
    lines = []
    for _ in range(examples(300)):
        data = bytes(draw.choices(range(60), k=300)) * 2
        packed = bytearray(zlib.compress(data)[2:])
        for _ in range(draw.randrange(1, 4)):
            packed[draw.randrange(len(packed))] = draw.randrange(256)
        lines.append(f"inflate:{len(data):x} {bytes(packed[: draw.randrange(1, 700)]).hex(' ')}")
    assert all(-1 <= int(line.partition(":")[0]) <= 600 for line in ask(file, "a", lines))
