"""The text module of pages, compiled for this machine and compared with Python on passages with links."""

from __future__ import annotations

import ctypes
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import front_end_vectors
import pytest
from c_readings import Reading, drawn_passages, reading, units

from kokoro_tvm.native.libkokoro import compile_text
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import Link

STRICT = (
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pedantic",
    "-g",
    "-fsanitize=undefined",
    "-fno-sanitize-recover=all",
)
# What the module does not need of the library's files stays out, as of WebAssembly.
SHARED = ("-shared", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-Wl,--gc-sections")
ABSENT = -(2**31)
READ_LANGUAGES = "abefhip"


class Error(ctypes.Structure):
    _fields_ = (("code", ctypes.c_int), ("text", ctypes.c_char * 2044))


class Module:
    """The module with a front-end file, called as web/front_end.js calls it."""

    def __init__(self, library: Path, file: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        for name in ("take_file", "open_file", "take_request", "read_request"):
            getattr(self._library, name).restype = ctypes.c_void_p
        self._library.last_error.restype = ctypes.POINTER(Error)
        for name in ("take_file", "take_request"):
            getattr(self._library, name).argtypes = [ctypes.c_size_t]
        content = file.read_bytes()
        ctypes.memmove(self._library.take_file(len(content)), content, len(content))
        assert self._library.open_file(), self.error

    @property
    def error(self) -> str:
        return bytes(self._library.last_error().contents.text).decode()

    def read(self, text: str, links: Sequence[Link], code: str) -> Reading:
        unit = units(text)
        numbers, given = [unit[-1], len(links)], text
        for link in links:
            numbers += [unit[link.start], unit[link.end]]
            numbers.append(ABSENT if link.stress is None else int(2 * link.stress))
            for item in (link.phonemes, link.alias, link.flags):
                numbers.append(ABSENT if item is None else len(_utf16(item)) // 2)
                given += item or ""
        request = b"".join(number.to_bytes(4, "little", signed=True) for number in numbers) + _utf16(given)
        assert self._library.reads(ord(code)), self.error
        ctypes.memmove(self._library.take_request(len(request)), request, len(request))
        answer = self._library.read_request(ord(code))
        if not answer:
            return {"error": self.error}, []
        utterances, notices = json.loads(ctypes.string_at(answer))
        place = {start: place for place, start in enumerate(unit)}
        for token in itertools.chain.from_iterable(utterances):
            token[1:3] = [place[token[1]], place[token[2]]]
        return utterances, notices


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


@pytest.fixture(scope="module")
def module(here: CCompiler, front_end_files: Path, tmp_path_factory: pytest.TempPathFactory) -> Module:
    library = tmp_path_factory.mktemp("module") / "text.so"
    compile_text(here, library, *SHARED, *STRICT, "-O1", "-lm")
    return Module(library, front_end_files / "front_end.safetensors")


@pytest.fixture(scope="module")
def front_end(front_end_files: Path) -> FrontEnd:
    return FrontEnd(FrontEndFile.open(front_end_files / "front_end.safetensors"))


def test_read_passage_matches_python_on_markup(module: Module) -> None:
    """The passages are those of tests/web/vectors.json."""
    rows = json.loads(front_end_vectors.FILE.read_text(encoding="utf-8"))["readings"]
    assert sum(1 for _, links, *_ in rows if links) > 5
    for text, links, code, read, notices in rows:
        given = [Link(*link) for link in links]
        result = module.read(text, given, code) if code in READ_LANGUAGES else (read, notices)
        assert result == (read, [] if isinstance(read, dict) else notices), text


@pytest.mark.parametrize("code", READ_LANGUAGES)
def test_read_passage_matches_python_on_random_links(module: Module, front_end: FrontEnd, code: str) -> None:
    for source in drawn_passages(code, 15):
        assert module.read(source.text, source.links, code) == reading(source, code, front_end), source


def test_read_passage_skips_nested_links(module: Module) -> None:
    """No markup makes nested links; two edits of the same characters would overlap."""
    outer, last = Link(0, 3, alias="World Wide Web"), Link(3, 5, stress=1)
    inner = [outer, Link(0, 2, alias="5"), Link(1, 3, phonemes="a"), last]
    assert module.read("WWW a", inner, "a") == module.read("WWW a", [outer, last], "a")


def test_read_passage_refuses_invalid_text(module: Module) -> None:
    assert module.read("a\0", (), "a")[0] == {
        "error": "The text holds a NUL byte, so it is probably not text. Remove it first."
    }
    assert module.read("a \ud800", (), "a")[0] == {
        "error": "The text is not valid UTF-8. Convert it to UTF-8 first."
    }
    assert module.read("Fine.", (), "a")[0]
