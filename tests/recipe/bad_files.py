"""Recipe files that must be refused, and where: by family, most of them made of every field there is.

`python tests/recipe/bad_files.py` tells how many there are and how long the slowest takes to be refused.
"""

from __future__ import annotations

import gzip
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["FAMILIES", "RECIPES", "TEXTS", "BadFile"]

RECIPES = Path(__file__).parent / "recipes"
TEXTS = {name: (RECIPES / f"{name}.yaml").read_text(encoding="utf-8") for name in ("here", "full", "toy")}
DATA = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
HEAD = TEXTS["here"]

Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class BadFile:
    """A file's content, the line and column of its fault (from 1), and the name it is saved under."""

    content: bytes
    at: tuple[int, int]
    file: str = "here.yaml"


def marked(text: str, file: str = "here.yaml") -> BadFile:
    """The fault is where § stands."""
    before, mark, after = text.partition("§")
    assert mark and "§" not in after, text[:200]
    at = before.count("\n") + 1, len(before) - before.rfind("\n")
    return BadFile((before + after).encode("utf-8", "surrogatepass"), at, file)


def _syntax() -> Iterator[tuple[str, BadFile]]:
    """What is no YAML, or YAML that a recipe may not use."""
    whole = {
        "nothing": "§",
        "blank lines": "§\n\n \n",
        "comments": "§# model: toy\n",
        "a document mark": "---\n§...\n",
        "a word": "§toy\n",
        "a number": "§42\n",
        "a text": '§"model: toy"\n',
        "a list": "§- model: toy\n",
        "a list in brackets": "§[model, toy]\n",
        "a block text": "§|\n  model: toy\n",
        "two documents": "model: toy\n§---\nmodel: toy\n",
        "a document after the end": "model: toy\n...\n§---\nmodel: toy\n",
        "a directive": "§%YAML 1.2\n---\nmodel: toy\n",
        "a tag directive": "§%TAG ! tag:example.com,2000:\n---\nmodel: toy\n",
        "a JSON text": '§"{}"',
        "an INI file": "[recipe]\n§model = toy\n",
        "a TOML file": "§model = 'toy'\n",
        "XML": "§<recipe><model>toy</model></recipe>\n",
        "a key twice at the top": HEAD + "§model: toy\n",
        "a key twice in quotes": HEAD + '§"model": toy\n',
        "a key twice below": HEAD.replace("frames:", "§tokens:"),
        "a key twice far below": TEXTS["toy"].replace("patches: [albert]", "patches: [albert], §axis: x"),
        "an empty key": HEAD + "§: toy\n",
        "a key in brackets": HEAD + "§[a, b]: toy\n",
        "a key in braces": HEAD + "§{a: b}: toy\n",
        "a complex key": HEAD + "? §[a]\n: toy\n",
        "a key that is a text block": HEAD + "? §|\n  mo del\n: toy\n",
        "a merge key": HEAD + "§<<: {length: exact}\n",
        "a merge key with a list": HEAD + "§<<: [{length: exact}]\n",
        "a merge key below": HEAD.replace("{tokens", "{§<<: {a: 1}, tokens"),
        "an anchor on a text": HEAD.replace("model: toy", "model: §&m toy"),
        "an anchor on a mapping": HEAD.replace("target: {", "target: §&t {"),
        "an anchor on a key": HEAD.replace("model:", "§&k model:"),
        "an anchor on the whole": "§&all\n" + HEAD,
        "an alias to nothing": HEAD.replace("exact", "§*gone"),
        "an alias as a key": HEAD.replace("length:", "§*k :"),
        "a tag on a text": HEAD.replace("exact", "§!!str exact"),
        "a tag on a list": HEAD.replace("[128", "§!!set [128"),
        "a tag of its own": HEAD.replace("exact", "§!length exact"),
        "a tag of Python's": HEAD.replace("exact", "§!!python/object/apply:os.system [ls]"),
        "a tag with an address": HEAD.replace("exact", "§!<tag:example.com,2000:x> exact"),
        "a tag on a key": HEAD.replace("length:", "§!!str length:"),
        "a bare tag": HEAD.replace("exact", "§! exact"),
        "a binary tag": HEAD.replace("exact", "§!!binary R0lGODlh"),
        "a tab after a colon": HEAD.replace("length: exact", "length:§\texact"),
        "a tab to indent": HEAD + "patches:\n§\tbert: []\n",
        "a tab in brackets": HEAD.replace("[128, 512]", "[128,§\t512]"),
        "a tab at a line's end": HEAD.replace("exact\n", "exact§\t\n"),
        "a tab in a comment": HEAD + "# a§\ttab\n",
        "a tab in quotes": HEAD.replace("exact", '"§\texact"'),
        "no colon": HEAD + "§length\n",
        "no space after a colon": HEAD + "§length:exact\n",
        "two colons": HEAD + "timeout_s: 5§: 6\n",
        "an item beside a key": HEAD + "passes: §- fuse\n",
        "a key after items": HEAD + "passes:\n  - fuse\n  §bert: 1\n",
        "an item after keys": HEAD + "gates:\n  bert: {min_snr_db: 1}\n  §- bert\n",
        "less indentation": HEAD + "gates:\n    bert: {min_snr_db: 1}\n  §f0n: {min_snr_db: 1}\n",
        "more indentation": HEAD + "gates:\n  enforce: true\n    bert§: {min_snr_db: 1}\n",
        "a bracket left open": HEAD + "passes: §[fuse, narrow\n",
        "a brace left open": HEAD + "gates: §{bert: {min_snr_db: 1}\n",
        "a bracket too much": HEAD.replace("5120]", "5120]§]"),
        "a brace too much": HEAD + "gates: {}§}\n",
        "the wrong bracket": HEAD.replace("5120]", "5120§}"),
        "no comma": HEAD.replace("[128, 512], frames", "[128, 512] §frames"),
        "no comma between items": HEAD.replace("[128, 512]", '["128" §"512"]'),
        "two commas": HEAD.replace("[128, 512]", "[128, §, 512]"),
        "a quote left open": HEAD + "precision: §'float32\n",
        "a double quote left open": HEAD + 'precision: §"float32\n',
        "a quote too much": HEAD + "precision: §'float32''\n",
        "text after a quoted text": HEAD + 'precision: "float32" §x\n',
        "an unknown escape": HEAD + 'precision: "float§\\z"\n',
        "a short escape": HEAD + 'precision: "float\\x§z"\n',
        "an escaped control character": HEAD + 'precision: §"float\\x00"\n',
        "an escaped tab": HEAD + 'precision: §"float\\t32"\n',
        "an escaped line feed in a key": HEAD + '§"pre\\u2028cision": float32\n',
        "an escaped surrogate": HEAD + 'precision: "\\u§d800"\n',
        "an at sign": HEAD + "precision: §@float\n",
        "a backtick": HEAD + "precision: §`float`\n",
        "a percent sign": HEAD + "precision: §%float\n",
        "a block text with a bad header": HEAD + "precision: >§x\n  float32\n",
        "no value": HEAD + "§precision:\n",
        "no value below": HEAD.replace("mcpu: native", "mcpu§:"),
        "no value behind an anchor": HEAD + "precision: §&a\n",
        "an empty item": HEAD + "passes:\n  - fuse\n  -§\n",
        "an explicit empty value": HEAD + "? §precision\n",
    }  # fmt: skip
    yield from ((name, marked(text)) for name, text in whole.items())


TRAPS = (
    "y Y n N yes Yes YES no No NO on On ON off Off OFF True TRUE False FALSE ~ Null NULL "
    ".nan .NaN .NAN nan NaN NAN .inf .Inf .INF -.inf +.inf inf Infinity -Infinity INF "
    "0128 010 00 0o17 0x1F 0xdeadbeef 0b101 1_000 +1 +0.5 .5 5. 1:30 190:20:30 12:30:45.5 "
    "2026-01-31 2026-1-1 2026-01-31T10:00:00Z "
    f"9007199254740993 -9007199254740993 1e400 -1e400 9.9e999 {'9' * 400} 1{'0' * 5000}"
)


def _words() -> Iterator[tuple[str, BadFile]]:
    """Unquoted words that YAML readers read differently, or that are no number anyone can compute with."""
    for word in TRAPS.split():
        yield f"word {word[:24]}", marked(f"{HEAD}timeout_s: §{word}\n")
    for word in ("no", ".nan", "010", "9" * 400):
        yield f"word {word[:24]} in brackets", marked(HEAD.replace("[128, 512]", f"[128, §{word}]"))


def _characters() -> Iterator[tuple[str, BadFile]]:
    """Characters that cannot be seen, in a value, in a key and in a comment by turns."""
    codes = [*range(0x00, 0x09), 0x0B, 0x0C, 0x0D, *range(0x0E, 0x20), *range(0x7F, 0xA0, 3), 0x85]
    codes += [0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069, 0xFEFF, 0xFFFE, 0xFFFF]
    places = ("length: ex§{}act", "len§{}gth: exact", "length: exact # §{}", 'length: "§{}exact"')
    for turn, code in enumerate(codes):
        line = places[turn % len(places)].format(chr(code))
        yield f"U+{code:04X}", marked(HEAD.replace("length: exact", line))


def _bytes() -> Iterator[tuple[str, BadFile]]:
    """What is no UTF-8 text."""
    accented = "# café\nmodel: toy\n"
    yield "UTF-16 little", BadFile(HEAD.encode("utf-16"), (1, 1))
    yield "UTF-16 big", BadFile(b"\xfe\xff" + HEAD.encode("utf-16-be"), (1, 1))
    yield "UTF-16 without a mark", BadFile(HEAD.encode("utf-16-le"), (1, 2))
    yield "UTF-16 big without a mark", BadFile(HEAD.encode("utf-16-be"), (1, 1))
    yield "UTF-32", BadFile(HEAD.encode("utf-32"), (1, 1))
    yield "UTF-32 without a mark", BadFile(HEAD.encode("utf-32-le"), (1, 2))
    yield "Latin-1", BadFile(accented.encode("latin-1"), (1, 6))
    yield "Windows-1252", BadFile(b"model: toy\nlength: \x93exact\x94\n", (2, 9))
    yield "Shift JIS", BadFile("model: toy\n# レシピ\n".encode("shift-jis"), (2, 3))
    yield "a UTF-8 mark in the middle", BadFile(b"model: toy\n\xef\xbb\xbflength: exact\n", (2, 1))
    yield "a UTF-8 mark twice", BadFile(b"\xef\xbb\xbf\xef\xbb\xbfmodel: toy\n", (1, 1))
    yield "an overlong slash", BadFile(b"model: \xc0\xaf\n", (1, 8))
    yield "a surrogate", BadFile(b"model: \xed\xa0\x80\n", (1, 8))
    yield "past the last character", BadFile(b"model: \xf5\x80\x80\x80\n", (1, 8))
    yield "cut in a character", BadFile("model: é".encode()[:-1], (1, 8))
    yield "gzip", BadFile(gzip.compress(HEAD.encode(), mtime=0), (1, 2))
    yield "PNG", BadFile(b"\x89PNG\r\n\x1a\n" + bytes(64), (1, 1))
    yield "ELF", BadFile(b"\x7fELF\x02\x01\x01" + bytes(64), (1, 1))
    yield "a zip archive", BadFile(b"PK\x03\x04\x14\x00" + bytes(64), (1, 3))
    yield "a pickle", BadFile(pickle.dumps({"model": "toy"}, protocol=4), (1, 1))
    yield "zeros", BadFile(bytes(4096), (1, 1))
    chance = random.Random(5)
    for number in range(8):
        line = "".join(chance.choices("abcdefgh: ", k=chance.randrange(60)))
        noise = b"\xfe" + chance.randbytes(300)
        yield f"noise {number}", BadFile(f"model: toy\n# {line}".encode() + noise, (2, 3 + len(line)))


def _bombs() -> Iterator[tuple[str, BadFile]]:
    """What would take time or memory to read: refused where the limit is passed, or before it matters."""
    laughs = "a: §&a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    yield "billion laughs", marked(laughs)
    yield "quadratic blow-up", marked("a: §&a " + "x" * 50_000 + "\nb: [" + "*a," * 50_000 + "]\n")
    yield "deep brackets", marked("model: " + "[" * 15 + "§" + "[" * 100_000)
    yield "deep braces", marked("model: " + "{a: " * 15 + "§" + "{a: " * 50_000)
    yield "deep items", marked("- " * 16 + "§" + "- " * 50_000 + "x\n")
    nested = "".join(" " * depth + "a:\n" for depth in range(1, 500))
    yield (
        "deep lines",
        marked("a:\n" + nested.replace("a:\n", "a:\n", 1).replace(" " * 16 + "a", " " * 16 + "§a", 1)),
    )
    yield "many values", marked("model: [" + "1," * 1_998 + "§1," + "1," * 58_000 + "1]\n")
    yield "many keys", marked("§k0: 1\n" + "".join(f"k{n}: 1\n" for n in range(1, 900)))
    yield "many keys past the limit", marked("".join(f"k{n}: {'§' * (n == 1999)}1\n" for n in range(5_000)))
    yield "many faults", marked(HEAD.replace("[128, 512]", "[§" + ", ".join(["9999"] * 1_900) + "]"))
    yield "many slips", marked(HEAD + "passes: [§" + ", ".join(f"fsue{n}" for n in range(1_900)) + "]\n")
    yield "a large file", marked("# " + "x" * (256 * 1024 - 2) + "§x\n")
    yield "a large file of lines", marked("#\n" * (128 * 1024) + "§#\n")
    yield "a long word", marked(f"{HEAD}precision: §{'x' * 250_000}\n")
    yield "a long key", marked(f"{HEAD}§{'x' * 1_000}: 1\n")
    yield "a key too long for YAML", marked(f"{HEAD}§{'x' * 2_000}: 1\n")
    yield "digits and a letter", marked(f"{HEAD}timeout_s: §{'1' * 250_000}x\n")
    yield "digits and underscores", marked(f"{HEAD}timeout_s: §1{'_' * 250_000}x\n")
    yield "base 60 and a letter", marked(f"{HEAD}timeout_s: §{'1:1' * 80_000}x\n")
    yield "a long date", marked(f"{HEAD}timeout_s: §2026-01-31 {'1' * 250_000}\n")
    yield "a long quoted text", marked(f'{HEAD}precision: §"{"x" * 250_000}"\n')
    yield (
        "a long text with a control character at its end",
        marked(f"{HEAD}precision: {'x' * 250_000}§\x07\n"),
    )
    yield "a long line of blanks", marked(f"{HEAD}passes: [{' ' * 250_000}§no]\n")
    yield "a long line of colons", marked(f"{HEAD}§a{':' * 200_000}\n")
    yield "a long line of question marks", marked("? §" + "? " * 100_000)
    yield "many lines and no end", marked(f"{HEAD}passes: §[" + "\n" * 250_000)
    yield "many comments and no end", marked(f"{HEAD}passes: §[\n" + " #\n" * 80_000)
    yield "a long folded text", marked(f"{HEAD}precision: §>\n" + "  x\n" * 60_000)
    yield "many quotes and no end", marked(f"{HEAD}precision: §'" + "''" * 120_000)
    yield "a long tag", marked(f"{HEAD}precision: §!<tag:{'x' * 100_000}> float32\n")
    yield "a long anchor", marked(f"{HEAD}precision: §&{'a' * 100_000} float32\n")


# What is refused in place of a value, by what the value is. (true is an int to Python, 5.0 is none to us.)
WRONG: dict[type, tuple[str, ...]] = {
    str: ("5", "0.5", "true", "null", "[a]", "{a: b}"),
    int: ("word", '"5"', "0.5", "true", "null", "[5]", "{a: 5}"),
    float: ("word", '"0.5"', "true", "[0.5]", "{a: 0.5}"),
    bool: ("word", '"true"', "1", "[true]", "{a: true}"),
    list: ("word", "5", "true", "{a: b}"),
    dict: ("word", "5", "true", "[a]"),
}


def _types() -> Iterator[tuple[str, BadFile]]:
    """Every field of both kinds of file with a value of every other type."""
    for file in ("full", "toy"):
        for path, value in _fields(DATA[file]):
            if {"pass_context", "config"} <= set(path[:-1]):
                continue  # any scalar will do there
            kind = float if "gates" in path and type(value) is int else type(value)
            for wrong in WRONG[kind]:
                if wrong == "null" and path[-1] == "mtriple":
                    continue  # null means: of the machine that builds
                if wrong == "null" and path[-1] == "opt_level":
                    continue  # null means: the model's
                yield f"{file} {_dotted(path)}: {wrong}", _with(file, path, wrong)


def _ranges() -> Iterator[tuple[str, BadFile]]:
    """Numbers one step outside, and far outside, of what they may be."""
    for file, path, values in (
        ("full", ("buckets", "tokens", 0), "0 -1 513 99999999"),
        ("full", ("buckets", "frames", 0), "0 -5 513 5121"),
        ("full", ("timeout_s",), "0 -1 86401 1e3"),
        ("full", ("pass_context", "opt_level"), "-1 5 3.0"),
        ("full", ("gates", "decoder", "min_gain_db"), "-400.5 401 1e300"),
        ("full", ("gates", "speech", "min_magnitude_correlation"), "-1.01 1.01 99.99"),
        ("toy", ("gates", "bert", "min_snr_db"), "-401 400.01"),
        ("toy", ("utterances", 1, "speed"), "0 0.0 -1 10.01"),
        ("toy", ("utterances", 1, "seed"), "-1 18446744073709551616"),
        ("toy", ("checkpoint", "sources", 0, "shards", "count"), "0 1001"),
        ("toy", ("checkpoint", "sources", 0, "shards", "size"), "0 1099511627777"),
    ):
        for value in values.split():
            if (path[1:], value) == (("frames", 0), "513"):  # not less than the one that follows it
                yield "full buckets.frames grows", _with(file, ("buckets", "frames", 1), "128")
            else:
                yield f"{file} {_dotted(path)}: {value}", _with(file, path, value)


def _forms() -> Iterator[tuple[str, BadFile]]:
    """Words of the wrong form: names, digests, versions, paths."""
    source = ("checkpoint", "sources", 0)
    for file, path, words in (
        ("full", ("model",), "Toy a/b ../toy toy.yaml _toy " + "x" * 65),
        ("full", ("precision",), "float64 Float32 fp32"),
        ("full", ("length",), "dynamic Exact"),
        ("full", ("target", "kind"), "vulkan LLVM"),
        ("full", ("target", "mcpu"), "natvie -zen x,y"),
        ("full", ("target", "mtriple"), "x86_64 linux/gnu --"),
        ("full", ("target", "mattr", 0), "avx2 ++avx2 +avx2,+fma"),
        ("full", ("patches", "decoder", 0), "snake_resblok ../lstm LSTM decoder.py"),
        ("full", ("passes", 0), "fsue ../fuse fuse.py"),
        ("full", ("sets", 0), "nigthly weekly CI"),
        ("full", ("pass_context", "disabled_passes", 0), "1Fuse Fuse-Ops"),
        (
            "toy",
            ("checkpoint", "config", "sha256"),
            f"{'a' * 63} {'a' * 65} {'A' * 64} {'g' * 64} sha256:{'a' * 64}",
        ),
        ("toy", ("checkpoint", "config", "file"), "../x.json /etc/passwd a//b a\\b ~/x"),
        ("toy", ("checkpoint", "voices", "names", 0), "1heart af-heart AF_heart"),
        ("toy", ("checkpoint", "voices", "sha256"), f"{'a' * 63} {'A' * 64}"),
        ("toy", (*source, "kind"), "nmp http"),
        ("toy", (*source, "packages", 0, "name"), "Weights a/b/c @scope"),
        ("toy", (*source, "packages", 0, "version"), "latest ^1.0.0 1.0.x v1.0.0"),
        ("toy", (*source, "shards", "pattern"), "part.bin part{}{}.bin a/{}.bin {0}.bin"),
        ("toy", ("checkpoint", "sources", 1, "path"), "toy.bin toy.onnx.gz toy"),
        ("toy", ("components", "bert", "axis"), "frames samples"),
        ("toy", ("components", "decoder", "axis"), "tokens frame"),
        ("toy", ("utterances", 0, "voice"), "heart af-heart AF_heart"),
        ("toy", ("utterances", 0, "name"), "Short a/b"),
    ):
        for word in words.split():
            yield f"{file} {_dotted(path)}: {word[:24]}", _with(file, path, f"'{word}'")


def _keys() -> Iterator[tuple[str, BadFile]]:
    """Every key with a letter twice, and every mapping without a key that it must have."""
    optional = {
        "precision",
        "length",
        "patches",
        "passes",
        "pass_context",
        "gates",
        "timeout_s",
        "sets",
        "mtriple",
        "mattr",
    }
    optional |= {"opt_level", "disabled_passes", "config", "enforce", "speed", "seed", "folder", "voices"}
    optional |= {"front_end"}
    for file in ("full", "toy"):
        for path, _ in _fields(DATA[file]):
            *above, key = path
            if isinstance(key, int) or {"pass_context", "config"} <= set(above) or "files" in above:
                continue
            slip = key[0] + key
            yield f"{file} {_dotted((*above, slip))}", _without(file, path, slip)
            needed = (
                file == "toy"
                and key in ("passes", "gates", "config", "voices")
                and "sources" not in path[-1:]
            )
            if "voices" in above and key in ("names", "sha256"):  # which stand for one another
                continue
            needed |= file == "toy" and key == "folder" and "front_end" in above
            if (key not in optional or needed) and not (
                file == "full" and above and above[0] in ("gates", "patches")
            ):
                yield f"{file} lacks {_dotted(path)}", _without(file, path, None)


def _references() -> Iterator[tuple[str, BadFile]]:
    """Models that are missing, or no models; recipes that name each other."""
    for name in ("gone", "tyo", "x86"):
        yield f"model {name}", marked(HEAD.replace("toy", f"§{name}"))
    yield "model is a target", marked(HEAD.replace("toy", "§full"))
    yield "model is itself", marked(HEAD.replace("toy", "§here"))
    yield "models in a circle", marked(HEAD.replace("toy", "§loop"), "full.yaml")
    yield "a model that is broken", marked(TEXTS["toy"].replace("[legalize", "[§lgalize"), "toy.yaml")


FAMILIES: dict[str, Callable[[], Iterator[tuple[str, BadFile]]]] = {
    "syntax": _syntax,
    "words": _words,
    "characters": _characters,
    "bytes": _bytes,
    "bombs": _bombs,
    "types": _types,
    "ranges": _ranges,
    "forms": _forms,
    "keys": _keys,
    "references": _references,
}


def _fields(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every key and item below a value, innermost last."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield (*path, key), item
        yield from _fields(item, (*path, key))


def _dotted(path: Path_) -> str:
    return ".".join(map(str, path))


def _dump(value: Any) -> str:
    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=10**6)


def _changed(value: Any, path: Path_, change: Callable[[Any, str | int], Any]) -> Any:
    """A copy in which `change(container, key)` has been applied at the path."""
    if len(path) == 1:
        return change(value, path[0])
    inner = _changed(value[path[0]], path[1:], change)
    if isinstance(value, dict):
        return value | {path[0]: inner}
    return [inner if index == path[0] else item for index, item in enumerate(value)]


def _with(file: str, path: Path_, written: str) -> BadFile:
    """The file with something else written at a path; the fault is there."""

    def put(container: Any, key: Any) -> Any:
        return type(container)(container) | {key: "§"} if isinstance(container, dict) else [
            "§" if index == key else item for index, item in enumerate(container)
        ]  # fmt: skip

    text = _dump(_changed(DATA[file], path, put))
    return marked(text.replace("§", f"§{written}"), f"{file}.yaml")


def _without(file: str, path: Path_, other: str | None) -> BadFile:
    """The file with a key renamed (the fault is there), or left out (the fault is the key it stood under)."""

    def rename(container: dict[str, Any], key: Any) -> dict[str, Any]:
        return {f"§{other}" if k == key else k: v for k, v in container.items() if other or k != key}

    text = _dump(_changed(DATA[file], path, rename))
    if other:
        return marked(text, f"{file}.yaml")
    mark = _key_mark(yaml.compose(text), path[:-1])
    return BadFile(text.encode(), (mark.line + 1, mark.column + 1), f"{file}.yaml")


def _key_mark(node: Any, path: Path_) -> Any:
    """Where the key at a path stands; an item's own place, the file's beginning for no path."""
    mark = node.start_mark
    for part in path:
        if isinstance(part, int):
            node = node.value[part]
            mark = node.start_mark
        else:
            key, node = next((k, v) for k, v in node.value if k.value == part)
            mark = key.start_mark
    return mark


def _measure() -> None:
    """Prints how many files there are and how long refusing takes."""
    import time
    from tempfile import TemporaryDirectory

    from kokoro_tvm.common.errors import RecipeError
    from kokoro_tvm.recipe import check_file

    taken: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        for name, bad in (pair for make in FAMILIES.values() for pair in make()):
            for recipe, text in TEXTS.items():
                Path(folder, f"{recipe}.yaml").write_text(text, encoding="utf-8")
            path = Path(folder, bad.file)
            path.write_bytes(bad.content)
            best = float("inf")
            for _ in range(3):
                begun = time.perf_counter()
                try:
                    check_file(path, path.parent)
                except RecipeError:
                    best = min(best, time.perf_counter() - begun)
            taken[name] = best * 1e3
    slowest = sorted(taken, key=lambda name: -taken[name])[:5]
    print(f"{len(taken)} files, median {sorted(taken.values())[len(taken) // 2]:.1f} ms; the slowest:")
    print("\n".join(f"{taken[name]:8.1f} ms  {name}" for name in slowest))


if __name__ == "__main__":
    _measure()
