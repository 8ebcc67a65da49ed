"""Faulty recipe files by family, most of them generated for every field."""

from __future__ import annotations

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
    """A faulty file.

    Attributes:
        content: Bytes of the file.
        at: Line and column of the fault, from 1.
        file: Name that it is saved under.
    """

    content: bytes
    at: tuple[int, int]
    file: str = "here.yaml"


def marked(text: str, file: str = "here.yaml") -> BadFile:
    """Return a file whose fault is at §."""
    before, mark, after = text.partition("§")
    assert mark and "§" not in after, text[:200]
    at = before.count("\n") + 1, len(before) - before.rfind("\n")
    return BadFile((before + after).encode("utf-8", "surrogatepass"), at, file)


def _syntax() -> Iterator[tuple[str, BadFile]]:
    """Yield files that are not YAML, or use YAML that recipes may not use."""
    whole = {
        "a word": "§toy\n",
        "a number": "§42\n",
        "a text": '§"model: toy"\n',
        "a list": "§- model: toy\n",
        "a list in brackets": "§[model, toy]\n",
        "a block text": "§|\n  model: toy\n",
        "two documents": "model: toy\n§---\nmodel: toy\n",
        "a key twice at the top": HEAD + "§model: toy\n",
        "a key twice in quotes": HEAD + '§"model": toy\n',
        "a key twice below": HEAD.replace("frames:", "§tokens:"),
        "a key twice far below": TEXTS["toy"].replace("patches: [albert]", "patches: [albert], §axis: x"),
        "an empty key": HEAD + "§: toy\n",
        "a key in brackets": HEAD + "§[a, b]: toy\n",
        "a key in braces": HEAD + "§{a: b}: toy\n",
        "a merge key": HEAD + "§<<: {length: exact}\n",
        "a merge key below": HEAD.replace("{tokens", "{§<<: {a: 1}, tokens"),
        "an anchor on a text": HEAD.replace("model: toy", "model: §&m toy"),
        "an anchor on a mapping": HEAD.replace("target: {", "target: §&t {"),
        "an alias to nothing": HEAD.replace("exact", "§*gone"),
        "a tag on a text": HEAD.replace("exact", "§!!str exact"),
        "a tag of its own": HEAD.replace("exact", "§!length exact"),
        "a tag of Python's": HEAD.replace("exact", "§!!python/object/apply:os.system [ls]"),
        "a tab to indent": HEAD + "patches:\n§\tbert: []\n",
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
        "an at sign": HEAD + "precision: §@float\n",
        "a backtick": HEAD + "precision: §`float`\n",
        "a percent sign": HEAD + "precision: §%float\n",
        "no value": HEAD + "§precision:\n",
        "no value below": HEAD.replace("mcpu: native", "mcpu§:"),
        "an empty item": HEAD + "passes:\n  - fuse\n  -§\n",
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
    """Yield unquoted words that YAML readers read differently."""
    for word in TRAPS.split():
        yield f"word {word[:24]}", marked(f"{HEAD}timeout_s: §{word}\n")
    for word in ("no", ".nan", "010", "9" * 400):
        yield f"word {word[:24]} in brackets", marked(HEAD.replace("[128, 512]", f"[128, §{word}]"))


# What is refused in place of a value, by what the value is. (true is an int to Python, 5.0 is none to us.)
WRONG: dict[type, tuple[str, ...]] = {
    str: ("5", "null", "[a]"),
    int: ("word", '"5"', "0.5"),
    float: ("word", '"0.5"'),
    bool: ("word", '"true"', "1"),
    list: ("word", "{a: b}"),
    dict: ("word", "[a]"),
}


def _types() -> Iterator[tuple[str, BadFile]]:
    """Yield every field of both kinds of file with values of other types."""
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
    """Yield numbers one step outside, and far outside, of their bounds."""
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
    """Yield words of the wrong form: names, digests, versions, paths."""
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
    """Yield every key with a doubled letter, and every mapping without a required key."""
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
    """Yield missing models, recipes that are no models, and recipes that name each other."""
    for name in ("gone", "tyo", "x86"):
        yield f"model {name}", marked(HEAD.replace("toy", f"§{name}"))
    yield "model is a target", marked(HEAD.replace("toy", "§full"))
    yield "model is itself", marked(HEAD.replace("toy", "§here"))
    yield "models in a circle", marked(HEAD.replace("toy", "§loop"), "full.yaml")
    yield "a model that is broken", marked(TEXTS["toy"].replace("[legalize", "[§lgalize"), "toy.yaml")


FAMILIES: dict[str, Callable[[], Iterator[tuple[str, BadFile]]]] = {
    "syntax": _syntax,
    "words": _words,
    "types": _types,
    "ranges": _ranges,
    "forms": _forms,
    "keys": _keys,
    "references": _references,
}


def _fields(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield every key and item below a value, innermost last."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield (*path, key), item
        yield from _fields(item, (*path, key))


def _dotted(path: Path_) -> str:
    return ".".join(map(str, path))


def _dump(value: Any) -> str:
    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=10**6)


def _changed(value: Any, path: Path_, change: Callable[[Any, str | int], Any]) -> Any:
    """Return a copy with `change(container, key)` applied at a path."""
    if len(path) == 1:
        return change(value, path[0])
    inner = _changed(value[path[0]], path[1:], change)
    if isinstance(value, dict):
        return value | {path[0]: inner}
    return [inner if index == path[0] else item for index, item in enumerate(value)]


def _with(file: str, path: Path_, written: str) -> BadFile:
    """Return the file with another value at a path, where the fault is."""

    def put(container: Any, key: Any) -> Any:
        return type(container)(container) | {key: "§"} if isinstance(container, dict) else [
            "§" if index == key else item for index, item in enumerate(container)
        ]  # fmt: skip

    text = _dump(_changed(DATA[file], path, put))
    return marked(text.replace("§", f"§{written}"), f"{file}.yaml")


def _without(file: str, path: Path_, other: str | None) -> BadFile:
    """Return the file with a key renamed (the fault is there) or removed (the fault is its parent's key)."""

    def rename(container: dict[str, Any], key: Any) -> dict[str, Any]:
        return {f"§{other}" if k == key else k: v for k, v in container.items() if other or k != key}

    text = _dump(_changed(DATA[file], path, rename))
    if other:
        return marked(text, f"{file}.yaml")
    mark = _key_mark(yaml.compose(text), path[:-1])
    return BadFile(text.encode(), (mark.line + 1, mark.column + 1), f"{file}.yaml")


def _key_mark(node: Any, path: Path_) -> Any:
    """Return the place of the key at a path; an item's own place; the file's start for no path."""
    mark = node.start_mark
    for part in path:
        if isinstance(part, int):
            node = node.value[part]
            mark = node.start_mark
        else:
            key, node = next((k, v) for k, v in node.value if k.value == part)
            mark = key.start_mark
    return mark
