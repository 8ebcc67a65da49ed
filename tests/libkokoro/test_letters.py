"""libkokoro's table of letters, which decides what a word is and what a mark."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

from kokoro_tvm.libkokoro import FOLDER

BLOCKS = (range(0x400), range(0x1D00, 0x1DC0), range(0xAB30, 0xAB70))


def is_letter(code_point: int) -> bool:
    code = Path(FOLDER, "phonemes.c").read_text(encoding="utf-8")
    table = code[code.index("static int is_letter") : code.index("static int64_t id_of")]
    pairs = re.findall(r"\{0x(\w+), 0x(\w+)\}", table)
    assert len(pairs) > 20
    return any(int(first, 16) <= code_point <= int(last, 16) for first, last in pairs)


def test_it_is_pythons_in_the_blocks_of_phonemes() -> None:
    assert [hex(c) for block in BLOCKS for c in block if is_letter(c) != chr(c).isalpha()] == []


def test_no_letter_of_the_model_is_elsewhere() -> None:
    config = json.loads(files("kokoro_tvm.model").joinpath("kokoro-82m.json").read_text(encoding="utf-8"))
    letters = [symbol for symbol in config["vocab"] if symbol.isalpha()]
    assert len(letters) > 50
    assert all(is_letter(ord(symbol)) for symbol in letters)
