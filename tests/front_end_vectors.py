"""Texts and their plans by Python, which C and WebAssembly have to make too.

`python tests/front_end_vectors.py FRONT_END` writes `conformance.json`, from the front_end.safetensors of a
bundle.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import yaml
from examples import examples
from written_forms import written_forms

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.model.kokoro import SHIPPED_CONFIG
from kokoro_tvm.runtime.bundle.voices import Voices, describe
from kokoro_tvm.runtime.documents.captions import write_captions
from kokoro_tvm.runtime.session.routing import TooLongError
from kokoro_tvm.runtime.speech.division import Division
from kokoro_tvm.runtime.speech.joins import Pauses, muted_spans
from kokoro_tvm.runtime.speech.piece import Word
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.planning import Style, plan_pieces
from kokoro_tvm.runtime.speech.sentences import sentences_of_text
from kokoro_tvm.runtime.speech.words import timeline
from kokoro_tvm.runtime.text.frontend import front_end as front_end_module
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.packages import ESPEAK
from kokoro_tvm.runtime.text.markup import MarkupVocabulary
from kokoro_tvm.validation.reference.phonemes import sentences

__all__ = [
    "CASES",
    "FILE",
    "drawn",
    "few_texts",
    "many_texts",
    "message",
    "texts_of",
    "vectors",
    "without_espeak",
    "word_row",
    "write",
]

FILE = Path(__file__).parent / "conformance.json"
"""The vectors of `few_texts`."""

CASES = Path(__file__).parent / "runtime/text/frontend/cases"
_READINGS = CASES / "readings/en.yaml"
_VOICES = {"a": "af_heart", "b": "bf_emma", "e": "ef_dora"}
_RATE, _SAMPLES_PER_FRAME = 24_000, 600
_DIVISION = Division()  # a stream's, which cuts a long first utterance
_FRAGMENTS = """
[pause:0.5s] [pause: [pause:9] [rate:2] [rate:] [rate:x] [voice:bf_emma] [voice:] [voice:x]
[a](/ˈa/) [word](/wˈɜɹd/) [a](/☃/) [b](+1) [never](-2) [5](#a#) [105](#&#) <speak> </speak>
<speak>a</speak> <break/> &amp; &eacute; &#0; &#x41; <br> <b>bold</b> <!-- **a** _b_ `c` ~~d~~
**bold** *it* __all__ [a](https://b.c) ![a](b) [text][1] [^1] \\* | # $5M £3.50 -$5 $5-10 5,50€ 5°C
3/4 10:30pm 7pm-9pm 2024-03-15T10:00 3/15/2024 15.03.2024 555-0123 VIII XIV Dr. a@b.c #tag #NewYork
@you C# 😀 👍🏽 👩‍👩‍👧 🇫🇷 2️⃣ ❤️❤️ ½ 2½ ⅝ x² 10^5 CO₂ 5×4 a→b № 5kg 60mph 6'2" 9.8m/s² ‰ … — – “ ” « » ‘
’ 's n't Louis Henry Chapter World War Main Street St. Mr. Mrs. e.g. i.e. U.S. Fig. ſec. Inc. Jr.
vs. the The to TO a A in used am I B2B COVID-19 747 1905 2007 192.168.0.1 1,000,000 3.14 -5 10-20
1st 22nd 1980s 0.99 00 $ % & + @ don't isn't O'Neill's supercalifragilistic Quxley's naïve café
Ångström ﬁnal ǆ ß İ ı K ٣ १२ 𝟛 中文 日本語 हिन्दी العربية ﷺ http://a.b/c%20d?e=f www.example.com/
_snake_case_ camelCase HTMLParser re-enter well-known rock'n'roll !? ?! ... ;-) :) (in brackets)
"quoted"
"""
_HIDDEN = (
    "\u0301",
    "\u200b",
    "\u202e",
    "\ufeff",
    "\x1c",
    "\x85",
    "\u2028",
    "\r\n",
    "\n\n",
    "\n",
    " ",
    "  ",
    "\t",
)
_BLOCKS = (
    "\0",
    "\ud800",
    "\n- ",
    "\n1. ",
    "\n2) ",
    "\n# ",
    "\n> ",
    "\n---\n",
    "\n```\n",
    "\n| a | b |\n",
    "\n- [x] ",
)
_PLANES = [(0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x250, 0x2000), (0x2000, 0x3100), (0x3100, 0xD7FF)]
_PLANES += [(0x10000, 0x1FFFF), (0x1F300, 0x1FB00)]
_MALFORMED = (
    "<speak>a<b ></speak>",
    "<speak a='1' a='2'/>",
    "<speak a='1'b='2'/>",
    "<speak a='<'/>",
    "<speak\u00a0a='1'/>",
    "<speak><p a=1/></speak>",
    "<speak>a &eacute; b</speak>",
    "<speak>a &#0; b</speak>",
    "<speak>a &#xD800; b</speak>",
    "<speak>a ]]> b</speak>",
    "<speak>a \x01 b</speak>",
    "<speak><![CDATA[a</speak>",
    "<speak><!-- a -- b --></speak>",
    "<speak><? ?></speak>",
    "<speak>a<?xml version='1.0'?></speak>",
    "<?xml version='2.0' standalone='maybe'?><speak>a</speak>",
    "<?xml encoding='utf-8'?>\n<speak>a</speak>",
    "<speak>a</speak> b",
    "<speak>a</speak><speak>b</speak>",
    "\n  <speak>\r\na</p>\r</speak>",
    "<!DOCTYPE speak><speak>a</speak>",
    "\x1e\r<!DOCTYPE speak>a",
    "<speak>a</speak>]]",
    "<speak>a]]",
    "<speak>a\r",
    "<speak>\ud800</speak>",
    "<speak><sub>a</sub></speak>",
    "<speak><sub alias='b'>a<p/></sub></speak>",
    "<speak><phoneme ph='\u2603'>a</phoneme></speak>",
    "<speak><phoneme>a</phoneme></speak>",
    "<speak><prosody rate='0'>a</prosody></speak>",
    "<speak><prosody pitch='higher'>a</prosody></speak>",
    "<speak><emphasis level='odd'>a</emphasis></speak>",
    "<speak>" + "<p>" * 64 + "a",
    "<speak><sub alias='b'>" + "long " * 101 + "</sub></speak>",
)
_TEXTS = (
    "# A heading\n\nOne paragraph\nover two lines. A second sentence, which is long enough to be one of its "
    "own; and more.\n\n- an item\n- [x] another\n\n1. First\n2. Second\n\n| a | b |\n| 1 | 2 |\n\n```\n"
    "code\n```\n> quoted\n",
    "First. [pause:1.5s] Second. [voice:bf_emma] British colour [voice:] [rate:0.5]slow[rate:] fast.",
    "[pause:2s] Hello [pause:1s][pause:0.5s] world. [pause:3s]",
    "<speak>Say <emphasis level='strong'>this</emphasis> <break time='500ms'/> and <sub alias='World Wide "
    "Web Consortium'>W3C</sub>, <phoneme alphabet='ipa' ph='təˈmeɪtoʊ'>tomato</phoneme>.<p>A <s>new</s> "
    "paragraph &amp; a&#x301; <![CDATA[<raw>]]></p><prosody rate='120%' pitch='+10%'>quick</prosody>"
    "<mark name='x'/></speak>",
    "<?xml version='1.0'?>\n<speak version='1.1' xml:lang='en-US'><voice name='bf_emma'>British</voice>\r\n"
    "<phoneme ph='hə'></phoneme><!-- a comment --> <prosody pitch='200Hz'>high</prosody></speak>\n",
    "<speak>a<b></speak>",
    "<speak>a & b</speak>",
    "<speak>a",
    "<speak><break strength='odd'/></speak>",
    "<speak><voice name='nobody'>a</voice></speak>",
    *_MALFORMED,
    "",
    " \n ",
    "...",
    "a" * 200,
    "[pause:1h] a",
    "[pause:2000s][pause:2000s]a",
    "a",
    "It is [never](-2) [too](+1) late: [105](#a&#) or [1](#a#), [tomato](/təmˈAtO/)es, "
    "[New York](/nˈujˌɔɹk/)'s, **[bold](/ˈa/)**, ![a cat](/a.png) [x](/ˈa/).",
    "See https://x.com/[a](/ˈa/), www.x.com/[b](/ˈa/)c or \ue000 https://\ue000.",
    "<speak><desc>x<p>y</p></desc>a<metadata/> <emphasis level='none'>b</emphasis> <emphasis level='reduced'>"
    "word</emphasis> <prosody pitch='-2st' rate='x-fast'>c<prosody pitch='50%'>d</prosody></prosody></speak>",
    "<speak><phoneme alphabet='IPA' ph='a\u0325b'>x</phoneme> <phoneme alphabet='x-sampa' ph='A'>h</phoneme>"
    "<voice name='bf_emma'><phoneme alphabet='ipa' ph='\u0259\u028a'>o</phoneme></voice></speak>",
    "<speak>Hola. <voice name='ef_dora'>Buenos d\u00edas, 5 \u20ac.</voice></speak>",
    "See [Tell us](/about/), [blog](/blog), [x](/p/), [a](/hˈO/), [b](/mIn/) and [c](/nu jɔɹk/)"
    "[voice:ef_dora][hola](/ola/).",
    "<speak>a <" + "long" * 20 + ">b</" + "long" * 20 + "></speak>",
    "<speak>a <p " + "long" * 20 + "='x'>b</p> <break time='" + "9" * 60 + "'/></speak>",
    "[a" + "long" * 20 + "](/b c",
    "日本語です。",
    "word " * 150,
    "😀 and 𝟛 " * 30,
    "𐌰𐌰𐌰𐌰𐌰𐌰𐌰𐌰𐌰𐌰, " * 130 + "end. After it.",
    "word, " * 60,
    "A sentence that goes on and on, " * 20 + "until it ends.",
    "A very long sentence of many words without any mark that " * 40,
)


class _Model:
    """What `plan_pieces` asks: durations that follow from the tokens, of a small model."""

    def __init__(self, vocabulary: dict[str, int], most: dict[str, int]) -> None:
        self.bundle = mock.Mock(
            vocabulary=vocabulary,
            sample_rate=_RATE,
            samples_per_frame=_SAMPLES_PER_FRAME,
            largest=most.__getitem__,
        )
        self._most = most

    def predict(self, tokens: Any, ref_s: Any) -> tuple[Any, None]:
        """Float32 (1, tokens), quarters of a frame: halves show how they are rounded."""
        if tokens.size > self._most["tokens"]:
            raise TooLongError("tokens", tokens.size, self._most["tokens"])
        found = [
            1 + (7 * token + place) % 5 + token % 4 / 4 for place, token in enumerate(tokens[0].tolist())
        ]
        return np.array([found], np.float32), None

    def check_frames(self, durations: Any) -> None:
        """Raises TooLongError."""
        if durations.sum() > self._most["frames"]:
            raise TooLongError("frames", int(durations.sum()), self._most["frames"])


def vectors(file: Path, texts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What is made of texts in a language, a or b, by the front end of a file, without espeak-ng.

    Places are characters of the text, as in Python.
    """
    config = json.loads(SHIPPED_CONFIG.read_text(encoding="utf-8"))
    most = {"tokens": 160, "frames": 600}
    model = _Model(config["vocab"], most)
    with without_espeak():
        front_end = FrontEnd(FrontEndFile.open(file))
        found = [
            _vector(text, code, front_end, model, captions=i % 15 == 0)
            for i, (text, code) in enumerate(texts)
        ]
    return {
        "vocabulary": config["vocab"],
        "most": most,
        "division": asdict(_DIVISION),
        "rows": 100,
        "voices": list(_VOICES.values()),
        "texts": found,
    }


@contextmanager
def without_espeak() -> Iterator[None]:
    """While it is entered, English words that no lexicon has are read by their letters."""
    guesser = functools.partial(UnknownWordReader, espeak=False)
    with mock.patch.object(front_end_module, "UnknownWordReader", guesser):
        yield


def few_texts() -> list[tuple[str, str]]:
    """Texts of every kind: those of the committed file."""
    forms = [(form.written, "b" if form.british else "a") for form in written_forms()]
    read = [(text, "ab"[i % 2]) for i, text in enumerate([*_readings(), *sentences()[::60]])]
    return [("a", "b"), *((text, "a") for text in _TEXTS), *forms[::4], *read, *list(drawn(40, seed=40))]


def _readings() -> Iterator[str]:
    """The texts of words whose reading depends on their neighbours."""
    cases = yaml.safe_load(_READINGS.read_text(encoding="utf-8"))
    yield from (case["text"] for case in [*cases["homographs"], *cases["capitals"]])
    yield from (" ".join(ended) for ended in cases["sentences"])


def many_texts() -> list[tuple[str, str]]:
    """All written forms, all sentences, alternately American and British, and 2,000 random texts."""
    forms = [(form.written, code) for form in written_forms() for code in "ab"]
    read = [(text, "ab"[i % 2]) for i, text in enumerate(sentences())]
    return [*((text, "b") for text in _TEXTS), *forms, *read, *drawn(2000, seed=20_000)]


def drawn(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Random texts of characters that every Unicode since 13 knows."""
    draw = random.Random(seed)
    fragments = [*_FRAGMENTS.split(), *_HIDDEN * 2, *_BLOCKS]

    def part() -> str:
        if draw.random() < 0.6:
            return draw.choice(fragments) + " " * draw.randrange(2)
        low, high = draw.choice(_PLANES)
        chars = (chr(draw.randrange(low, high)) for _ in range(draw.randrange(1, 9)))
        return "".join(char for char in chars if unicodedata.category(char) != "Cn")

    for number in range(count):
        yield "".join(part() for _ in range(draw.randrange(1, 12))), "ab"[number % 2]


def texts_of(language: str) -> Iterator[str]:
    """Cases and plain sentences of a language, parts of them put together at random, random characters."""
    cases = yaml.safe_load((CASES / f"{language}.yaml").read_text(encoding="utf-8"))
    texts = [row["written"] for rows in cases.values() for row in rows]
    for path in CASES.glob(f"{language}.plain.txt"):
        texts += path.read_text(encoding="utf-8").splitlines()
    yield from texts
    draw = random.Random(language)
    parts = [*" ".join(texts).split(), *sorted({char for text in texts for char in text})]
    for _ in range(examples(300)):
        yield "".join(draw.choice(parts) + draw.choice(("", " ")) for _ in range(draw.randrange(1, 12)))
    for text, _ in drawn(examples(100), seed=100):
        yield text


def _vector(
    text: str, code: str, front_end: FrontEnd, model: _Model, captions: bool = False
) -> dict[str, Any]:
    voices = Voices({voice: np.zeros((100, 256), np.float32) for voice in _VOICES.values()})
    voice = _VOICES[code]
    known = MarkupVocabulary(
        model.bundle.vocabulary, lambda other: describe(voices.split(other or voice)[0]).code
    )
    vector: dict[str, Any] = {"text": text, "voice": voice}

    def planned() -> Any:
        style = Style(lambda other: voices.table(other or voice), 0.9, Pauses(), _DIVISION)
        found = plan_pieces(model, sentences_of_text(text, known, front_end), style)  # type: ignore[arg-type]
        plan = Plan(tuple(each.piece for each in found), voice, 0.9)
        if captions:
            vector["muted"] = [muted_spans(piece, _SAMPLES_PER_FRAME, _RATE) for piece in plan.pieces]
            vector["captions"] = {
                s: write_captions(f"words{s}", timeline(plan), plan.seconds)
                for s in (".srt", ".vtt", ".json")
            }
        return [
            {
                "before": list(map(word_row, piece.before)),
                "words": list(map(word_row, piece.words)),
                "after": list(map(word_row, piece.after)),
                "piece": [
                    piece.style,
                    piece.noise,
                    piece.lead,
                    piece.tail,
                    piece.keep,
                    piece.pause,
                    piece.voice,
                ],
            }
            for piece in plan.pieces
        ]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            vector["plan"] = planned()
        except InputError as error:
            vector["plan"] = {"error": message(str(error))}
    vector["notices"] = [message(str(each.message)) for each in caught]
    return vector


def word_row(word: Word) -> tuple[Any, ...]:
    """The fields of a word."""
    return (
        *(word.text, word.start, word.end, word.phonemes, word.space),
        *(word.durations, word.pitch, word.rate, word.joined),
    )


def message(text: str) -> str:
    """A message without what only Python can do."""
    text = text.replace(f"Install espeak-ng (`pip install {' '.join(ESPEAK.modules)}`) or give", "Give")
    return re.sub(r" `kokoro-tvm (voices|phonemize)` [^.]*\.", "", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("front_end", type=Path, help="front_end.safetensors of a bundle")
    parser.add_argument("file", type=Path, nargs="?", default=FILE)
    parser.add_argument("--many", action="store_true", help="the texts of the nightly test")
    given = parser.parse_args()
    write(given.file, vectors(given.front_end, many_texts() if given.many else few_texts()))


def write(file: Path, found: dict[str, Any]) -> None:
    """Write vectors as JSON, a text a line."""
    head = {name: value for name, value in found.items() if name != "texts"}
    begin = json.dumps(head, separators=(",", ":")).removesuffix("}")
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in found["texts"])
    file.write_text(f'{begin},"texts":[\n{rows}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
