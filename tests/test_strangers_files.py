"""Every parser of a file that a stranger may have written: mutated samples end in one of the five errors.

`_PARSERS` has a sample for each. Which modules need one is derived from what they call, see `_decodes`.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import random
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from office_files import write_docx, write_pdf
from registries import state_provenance
from toy_bundle import VOCABULARY, write_bundle

import kokoro_tvm
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.record import Output, StageRecord
from kokoro_tvm.common.errors import BuildError, BundleError, InputError, RecipeError, ValidationError
from kokoro_tvm.runtime.bundle.manifest import read_bundle
from kokoro_tvm.runtime.bundle.provenance import FILE as PROVENANCE
from kokoro_tvm.runtime.bundle.provenance import read_provenance
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.bundle.voice_files import encode_voice, read_voices
from kokoro_tvm.runtime.documents.readers import read_document
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.registry.artifact import OciLayer, build_manifest, read_layers
from kokoro_tvm.runtime.registry.sources import REFERENCE, read_index
from kokoro_tvm.runtime.registry.trust import SIGNED, key_ids, read_key, require_signature
from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.text.frontend.user_lexicon import read_lexicon
from kokoro_tvm.runtime.text.markup import MarkupVocabulary
from kokoro_tvm.runtime.text.markup.ssml import parse_ssml
from kokoro_tvm.serving.batch.manifest import read_manifest

ERRORS = (BuildError, BundleError, InputError, RecipeError, ValidationError)
WIDTH = 16


@dataclass(frozen=True)
class Parser:
    """module: below kokoro_tvm; name: of the file; samples: valid files; parse: called with a path."""

    module: str
    name: str
    samples: tuple[bytes, ...]
    parse: Callable[[Path], object]


def _book() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", "<container><rootfile full-path='b.opf'/></container>")
        archive.writestr(
            "b.opf",
            "<package><title>B</title><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/>"
            "<itemref idref='a'/></package>",
        )
        archive.writestr("a.xhtml", "<?xml version='1.0' encoding='utf-8'?><html><body><h1>A</h1><p>b</p>")
    return data.getvalue()


def _plan() -> bytes:
    return Plan((Piece((Word("Hello", 0, 5, "a", durations=(2,)),)),), "af_heart").to_json().encode()


def _array(version: tuple[int, int]) -> bytes:
    data = io.BytesIO()
    np.lib.format.write_array(data, np.zeros((510, WIDTH), np.float32), version=version)
    return data.getvalue()


def _bundle() -> bytes:
    with TemporaryDirectory() as folder:
        write_bundle(Path(folder))
        return (Path(folder) / "bundle.json").read_bytes()


def _provenance() -> bytes:
    with TemporaryDirectory() as folder:
        write_bundle(Path(folder))
        return (state_provenance(Path(folder)) / PROVENANCE).read_bytes()


def _quantized() -> bytes:
    described = {"a": {"bits": 10, "shape": [1, 1, 2, 2], "points": [[1.0]]}}
    header = {
        "__metadata__": {"quantized": json.dumps(described)},
        "a": {"dtype": "U8", "shape": [13], "data_offsets": [0, 13]},
    }
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(13)


def _read_document(path: Path) -> object:
    return read_document(path)


def _read_unisolated(name: str) -> Callable[[Path], object]:
    """Return a reader that runs in this process, with the treatment of errors of `read_isolated`."""
    module = importlib.import_module(f"kokoro_tvm.runtime.documents.readers.{name}")

    def read(path: Path) -> object:
        try:
            return module.read(path.read_bytes(), path)
        except ERRORS:
            raise
        except Exception as error:
            raise InputError(f"{path} cannot be read: {error!r}.") from error

    return read


def _read_voices(path: Path) -> object:
    return read_voices(path, WIDTH)


def _read_signature(path: Path) -> object:
    (path.parent / PROVENANCE).write_bytes(b"{}")
    key_ids(path.parent)
    key = path.parent / "key.pub"
    key.write_bytes(_KEY)
    return require_signature(path.parent, read_key(key), "here")


def _read_record(path: Path) -> object:
    """As the cache does: what is no record is not used."""
    content = path.read_bytes()
    folder = path.parent / "records" / _RECORD.key[:2]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{_RECORD.key}.json").write_bytes(content)
    return Cache(str(path.parent), "read-only", lambda note: None).record(_RECORD.key, ["a"])


def _read_ssml(path: Path) -> object:
    try:
        text = path.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        return list(parse_ssml(iter([text]), MarkupVocabulary(VOCABULARY, lambda voice: "a")))


_KEY = (
    Ed25519PrivateKey.generate()
    .public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
)
_RECORD = StageRecord("a", {"code": "b"}, (Output("a", 3, "0" * 64),), 1.0, 1.0, 1.0)
_ENVELOPE = {"payload": "e30=", "payloadType": "x", "signatures": [{"keyid": "0", "sig": "e30="}]}
_TABLE = np.zeros((510, WIDTH), np.float32)
_SRT = b"1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> 00:00:04,000\nWorld\n"
_PLACE = "a place"

_PARSERS = (
    Parser("runtime/bundle/voice_files.py", "a.npy", (_array((1, 0)), _array((2, 0))), _read_voices),
    Parser("runtime/bundle/voice_files.py", "a.bin", (_TABLE.tobytes(),), _read_voices),
    Parser("runtime/bundle/torch_file.py", "a.pt", (encode_voice(_TABLE, ".pt"),), _read_voices),
    Parser(
        "runtime/bundle/tensors.py",
        "a.safetensors",
        (encode_voice(_TABLE, ".safetensors"),),
        _read_voices,
    ),
    Parser("runtime/bundle/tensors.py", "b.safetensors", (_quantized(),), map_safetensors),
    Parser("runtime/bundle/manifest.py", "bundle.json", (_bundle(),), lambda path: read_bundle(path.parent)),
    Parser("runtime/bundle/provenance.py", PROVENANCE, (_provenance(),), read_provenance),
    Parser("runtime/speech/plan_file.py", "a.json", (_plan(),), _read_document),
    Parser(
        "runtime/registry/trust.py",
        SIGNED,
        (
            json.dumps(_ENVELOPE).encode(),
            b'{"sig": {}}',
            b'{"payload": "", "payloadType": "", "signatures": [{"sig": {}, "keyid": ""}]}',
        ),
        _read_signature,
    ),
    Parser("runtime/registry/trust.py", "a.pub", (_KEY,), read_key),
    Parser(
        "runtime/registry/artifact.py",
        "manifest",
        (build_manifest([OciLayer("a", 3, "0" * 64)], "toy", "1"),),
        lambda path: read_layers(path.read_bytes(), _PLACE),
    ),
    Parser(
        "runtime/registry/sources.py",
        "index.json",
        (json.dumps({"manifests": [{"digest": "sha256:0", "annotations": {REFERENCE: "a"}}]}).encode(),),
        lambda path: read_index(path.read_bytes(), _PLACE),
    ),
    Parser("builder/engine/record.py", "record", (_RECORD.to_bytes(),), _read_record),
    Parser(
        "serving/batch/manifest.py",
        "lines.jsonl",
        (b'{"name": "a", "text": "b", "speed": 1.5, "seed": 3}\n{"name": "c", "phonemes": "a"}\n',),
        read_manifest,
    ),
    Parser("runtime/documents/readers/bounded_zip.py", "a.epub", (_book(),), _read_document),
    Parser(
        "runtime/documents/readers/docx.py", "a.docx", (write_docx(["A"], ["b"]),), _read_unisolated("docx")
    ),
    Parser(
        "runtime/documents/readers/pdf.py",
        "a.pdf",
        (write_pdf([["A line", "of text."]]),),
        _read_unisolated("pdf"),
    ),
    Parser(
        "runtime/documents/readers/html.py",
        "a.html",
        (b"<!DOCTYPE html><p>A <b>b</b> &eacute;&#x41;<ol start=3><li>c</ol>",),
        _read_document,
    ),
    Parser(
        "runtime/documents/readers/markdown.py",
        "a.md",
        (b"# A\n\n* b [c](d)\n\n> e `f`\n\n1. g\n",),
        _read_document,
    ),
    Parser("runtime/documents/readers/srt.py", "a.srt", (_SRT,), _read_document),
    Parser(
        "runtime/documents/readers/document.py",
        "a.txt",
        (b"\xff\xfeH\x00i\x00", b"\xef\xbb\xbfHi"),
        _read_document,
    ),
    Parser(
        "runtime/text/markup/xml.py",
        "a.ssml",
        (b'<speak><p>a<break time="1s"/><emphasis level="strong">b</emphasis></p></speak>',),
        _read_ssml,
    ),
    Parser(
        "common/yaml_file.py",
        "a.yaml",
        (b"word: abc\n'other word': \"a b\"\n",),
        lambda path: read_lexicon(path, VOCABULARY),
    ),
)
_ODD = (
    None,
    True,
    -1,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [[]],
    {"a": {}},
    10**400,
    2**63,
    2**64,
    float("nan"),
    float("inf"),
    -(2**31),
)


def _mutated(sample: bytes, random: random.Random) -> bytes:
    """A sample after one to three mutations."""
    data = sample
    for _ in range(random.randint(1, 3)):
        data = random.choice(_MUTATIONS)(data, random)
    return data


def _flip(data: bytes, random: random.Random) -> bytes:
    # Headers are what parsers read, so most of the flips are in the first bytes.
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        if changed:
            place = random.randrange(min(len(changed), random.choice((64, 512, len(changed)))))
            changed[place] = random.choice((0, 255, random.randrange(256)))
    return bytes(changed)


def _cut(data: bytes, random: random.Random) -> bytes:
    start = random.randrange(len(data) + 1)
    return random.choice((data[:start], data[start:]))


def _duplicate(data: bytes, random: random.Random) -> bytes:
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:]


def _nest(data: bytes, random: random.Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return (
        data[:place]
        + random.choice((b"[", b'{"a":', b"<a>", b"(", b"> ", b"* ", b"- ")) * 3000
        + data[place:]
    )


def _enlarge(data: bytes, random: random.Random) -> bytes:
    """Another number in the place of one that is written in digits."""
    places = [match.span() for match in re.finditer(rb"\d+", data[:100_000])]
    if not places:
        return data
    start, end = random.choice(places)
    number = random.choice(
        (b"9" * 30, b"-1", b"1e999", b"0", b"9" * 5000, b"1.5", b"18446744073709551616", b"''")
    )
    return data[:start] + number + data[end:]


def _retype(data: bytes, random: random.Random) -> bytes:
    """Another value in the JSON of the sample; that of a safetensors header where it is one."""
    head = int.from_bytes(data[:8], "little")
    binary = 2 <= head <= len(data) - 8
    try:
        node = json.loads(data[8 : 8 + head] if binary else data)
    except (ValueError, RecursionError):
        return data
    places = [*_places(node)]
    if not places:
        return json.dumps(random.choice(_ODD)).encode()
    holder, key = random.choice(places)
    value = random.choice((*_ODD, _REMOVED))
    if value is _REMOVED:
        del holder[key]
    elif isinstance(holder[key], str) and holder[key][:1] in ("{", "["):  # JSON within JSON
        holder[key] = _retype(holder[key].encode(), random).decode("utf-8", "replace")
    else:
        holder[key] = value
    text = json.dumps(node).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + head :] if binary else text


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in (
        node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ())
    ):
        yield node, key
        yield from _places(value)


_REMOVED = object()
_MUTATIONS = (_flip, _cut, _duplicate, _nest, _enlarge, _retype, _retype)


def _parse(parser: Parser, data: bytes) -> None:
    with TemporaryDirectory() as folder, np.errstate(all="ignore"):
        path = Path(folder) / parser.name
        path.write_bytes(data)
        try:
            parser.parse(path)
        except ERRORS as error:
            assert str(error).endswith((".", "?", "!", "…")) or "\n" in str(error)


_NAMES = [f"{parser.module}:{parser.name}" for parser in _PARSERS]


@pytest.mark.parametrize("parser", _PARSERS, ids=_NAMES)
def test_parser_reads_its_samples(parser: Parser) -> None:
    """Otherwise their mutations would say nothing."""
    if parser.name == SIGNED:  # whose key is another one
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / parser.name
        for sample in parser.samples:
            path.write_bytes(sample)
            parser.parse(path)


@pytest.mark.parametrize("parser", _PARSERS, ids=_NAMES)
def test_parser_refuses_mutated_files_with_an_error_of_its_own(parser: Parser) -> None:
    _attack(parser, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("parser", _PARSERS, ids=_NAMES)
def test_parser_refuses_many_mutated_files(parser: Parser) -> None:
    _attack(parser, 5000)


def _attack(parser: Parser, count: int) -> None:
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=[*HealthCheck])
    @given(st.sampled_from(parser.samples), st.randoms(use_true_random=False))
    def attack(sample: bytes, random: random.Random) -> None:
        _parse(parser, _mutated(sample, random))

    attack()


_DECODERS = frozenset(
    {"json.loads", "json.load", "np.frombuffer", "zipfile.ZipFile", "ZipFile", "expat.ParserCreate"}
    | {
        "pickletools.genops",
        "struct.unpack",
        "struct.unpack_from",
        "YAML",
        "MarkdownIt",
        "PdfReader",
        "convert_to_html",
        "etree.HTMLParser",
        "decode_text",
    }
)
_FOLDERS = ("runtime", "serving/batch")
"""What reads strangers' files; everything else reads what this machine wrote, or pinned digests."""
_OTHERS = {
    "runtime/documents/spool.py": "reads what it wrote",
    "runtime/documents/readers/isolation.py": "reads what its child process writes",
    "runtime/documents/readers/__init__.py": "calls the readers that have samples",
    "serving/batch/speaking.py": "reads what it wrote; another record is not used",
    "runtime/registry/web.py": "test_credentials.py sends it damaged answers",
    "runtime/bundle/executable.py": "raises ValueError; runtime/bundle/test_inspection.py mutates libraries",
    "runtime/bundle/verification.py": "reads what it wrote; anything else is not used",
    "runtime/session/session.py": "reads a library whose digest the bundle has: code that runs anyway",
    "runtime/text/abbreviations.py": "reads a file of this package",
    "runtime/text/frontend/data.py": "reads a file whose digest the bundle has",
    "runtime/text/frontend/espeak_child.py": "reads what its parent process writes",
    "runtime/text/frontend/espeak_process.py": "reads what its child process writes",
    "runtime/text/frontend/dictionary.py": "reads a file whose digest the bundle has",
    "runtime/text/frontend/joint_ngrams.py": "reads a file whose digest the bundle has",
}


def _decodes(path: Path) -> bool:
    """Whether a module decodes bytes or text of some format itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    bases = {
        ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases
    }
    return bool((calls | bases) & _DECODERS)


def test_every_parser_has_samples() -> None:
    package = Path(kokoro_tvm.__file__).parent
    decoding = {
        path.relative_to(package).as_posix()
        for folder in _FOLDERS
        for path in (package / folder).rglob("*.py")
        if _decodes(path)
    }
    sampled = {parser.module for parser in _PARSERS}
    assert decoding - sampled - _OTHERS.keys() == set()
    assert _OTHERS.keys() - decoding == set()


def _checkpoints() -> list[Parser]:
    """Checkpoints of models, whose libraries take seconds to import."""
    import onnx
    import safetensors.torch
    import torch

    from kokoro_tvm.model.formats import onnx as onnx_format
    from kokoro_tvm.model.formats import pth
    from kokoro_tvm.model.formats import safetensors as safetensors_format

    state = {"bert": {"module.a.weight": torch.zeros(2, 3)}}
    expected = {"bert.a.weight": (2, 3)}
    data = io.BytesIO()
    torch.save(state, data)
    tensor = onnx.numpy_helper.from_array(np.zeros((2, 3), np.float32), "bert.a.weight")
    graph = onnx.helper.make_graph([], "graph", [], [], [tensor])
    return [
        Parser("", "a.pth", (data.getvalue(),), lambda path: pth.read(path, expected)),
        Parser(
            "",
            "a.safetensors",
            (safetensors.torch.save({"bert.a.weight": torch.zeros(2, 3)}),),
            lambda path: safetensors_format.read(path, expected),
        ),
        Parser(
            "",
            "a.onnx",
            (onnx.helper.make_model(graph).SerializeToString(),),
            lambda path: onnx_format.read(path, expected),
        ),
    ]


@pytest.mark.slow("imports torch and onnx, and reads hundreds of checkpoints")
def test_checkpoints_are_refused_with_an_error_of_their_own() -> None:
    for parser in _checkpoints():
        _attack(parser, 300)
