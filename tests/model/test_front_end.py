"""Sources of the front end: fetched by digest, converted reproducibly."""

from __future__ import annotations

import copy
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import srsly
from front_end_data import LABELS, shipped, toy_files, toy_front_end

from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.stages import front_end as stage
from kokoro_tvm.builder.stages.base import Place
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.front_end import sources as module
from kokoro_tvm.model.front_end.alignment import align
from kokoro_tvm.model.front_end.fetch import fetch
from kokoro_tvm.model.front_end.pronunciations import convert_phones, read_cmudict
from kokoro_tvm.model.front_end.training import train, training_words
from kokoro_tvm.model.front_end.yields import FILES
from kokoro_tvm.recipe.front_end import FrontEndSpec
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.english import EnglishFrontEnd
from kokoro_tvm.runtime.text.frontend.joint_ngrams import JointNgrams, pack_ngrams
from kokoro_tvm.runtime.text.frontend.letter_network import MAX_COST, LetterNetwork
from kokoro_tvm.runtime.text.frontend.source import SourceText

OBJECTS = srsly.msgpack_dumps({b"nd": True, b"type": "|O", b"kind": b"", b"shape": [1], b"data": bytes(8)})


def spec(content: dict[str, Any]) -> FrontEndSpec:
    return FrontEndSpec.model_validate(content, strict=False)


def fetched(folder: Path, content: dict[str, Any]) -> Path:
    out = folder / "out"
    out.mkdir()
    fetch(spec(content), out, root=folder)
    return out


def test_convert_toy_speaks(tmp_path: Path) -> None:
    out = fetched(tmp_path, toy_front_end(tmp_path))
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    english = EnglishFrontEnd(FrontEndFile.open(out / FILES[0]).english(False), False)
    tokens = english.convert(SourceText.of('"The cat sat--the mat."'))
    assert [t.text for t in tokens] == ['"', "The", "cat", "sat", "--", "the", "mat", ".", '"']
    assert [t.phonemes for t in tokens if t.text.isalpha()] == ["ðə", "kˈæt", "sˈæt", "ðə", "mˈæt"]
    assert {t.tag for t in tokens} <= set(LABELS)


def test_fetch_is_reproducible(tmp_path: Path) -> None:
    contents = []
    for name, files in (
        ("one", toy_files()),
        ("two", {k: dict(reversed(v.items())) for k, v in toy_files().items()}),
    ):
        (tmp_path / name).mkdir()
        out = fetched(tmp_path / name, toy_front_end(tmp_path / name, files))
        contents.append([(out / file).read_bytes() for file in FILES])
    assert contents[0] == contents[1]


def test_fetch_tries_the_next_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "unreachable", lambda url: f"{url} cannot be reached")
    content = toy_front_end(tmp_path)
    nowhere = [
        {"kind": "https", "url": "https://nowhere.invalid/a.whl", "sha256": "0" * 64, "folder": "a"},
        {"kind": "installed", "package": "no-such-package", "version": "1.0", "folder": "a"},
        {"kind": "installed", "package": "numpy", "version": "0.0.1", "folder": "a"},
        {"kind": "file", "path": "gone.zip", "sha256": "0" * 64, "folder": "a"},
    ]
    content["tagger"]["sources"] = [*nowhere, *content["tagger"]["sources"]]
    fetched(tmp_path, content)
    content["tagger"]["sources"] = nowhere
    (tmp_path / "again").mkdir()
    with pytest.raises(BuildError) as caught:
        fetch(spec(content), tmp_path / "again", root=tmp_path)
    for reason in (
        "(1) https://nowhere.invalid/a.whl",
        "not installed",
        "is installed, not 0.0.1",
        "gone.zip",
    ):
        assert reason in str(caught.value)
    assert "kind: file" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["sources"][0].update(sha256="1" * 64), "is not the pinned file: expected sha256 1111"),
        (lambda c: c["sources"][0].update(folder="other"), "lacks a file"),
        (
            lambda c: c["files"].update({"tokenizer": "2" * 64}),
            "tokenizer of file tagger.zip is not the pinned",
        ),
        (lambda c: c["files"].update({"missing": "2" * 64}), "lacks a file"),
    ],
)
def test_fetch_refuses_unpinned_content(tmp_path: Path, change: Any, message: str) -> None:
    content = toy_front_end(tmp_path)
    changed = copy.deepcopy(content)
    change(changed["tagger"])
    changed["tagger"]["sources"] += content["tagger"]["sources"]  # must not be tried
    with pytest.raises(BuildError, match=message):
        fetched(tmp_path, changed)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("part", "name", "bad", "message"),
    [
        ("tagger", "tok2vec/model", b"\x81", "no data that this version reads"),
        ("tagger", "tagger/model", srsly.msgpack_dumps({"nodes": [], "params": []}), "expected 6 embeddings"),
        ("tagger", "tokenizer", srsly.msgpack_dumps({}), "no data that this version reads"),
        ("lexicon", "us_gold.json", b"[1]", "no data that this version reads"),
        ("lexicon", "gb_silver.json", b"{", "no data that this version reads"),
    ],
)
def test_convert_refuses_other_content(
    tmp_path: Path, part: str, name: str, bad: bytes, message: str
) -> None:
    files = toy_files()
    files[part][name] = bad
    with pytest.raises(BuildError, match=message):
        fetched(tmp_path, toy_front_end(tmp_path, files))


def test_front_end_stage_depends_on_its_digests(tmp_path: Path) -> None:
    content = toy_front_end(tmp_path)
    place = Place("toy", tmp_path / "artifacts", Store(tmp_path / "artifacts/.store"))
    declared = stage.declare(place, spec(content), tmp_path)
    declared.run(lambda elapsed: None)
    assert declared.is_current()
    elsewhere = copy.deepcopy(content)
    elsewhere["tagger"]["sources"].insert(0, {"kind": "file", "path": "x", "sha256": "0" * 64, "folder": "y"})
    assert stage.declare(place, spec(elsewhere), tmp_path).is_current()
    elsewhere["tagger"]["files"]["tokenizer"] = "3" * 64
    assert not stage.declare(place, spec(elsewhere), tmp_path).is_current()


def test_tagger_archive_has_the_pinned_files(front_end_files: Path) -> None:
    with zipfile.ZipFile(front_end_files / "tagger.zip") as archive:
        assert set(archive.namelist()) == set(shipped().tagger.files)


@pytest.mark.parametrize(
    "data",
    [
        OBJECTS,
        b"\xc7\x00\x01",
        b"\x91" * 2000 + b"\x00",
        struct.pack(">BI", 0xDD, 2**31),
        b"\x90\x90",
        b"\xa1\xff",
    ],
)
def test_convert_refuses_damaged_messagepack(tmp_path: Path, data: bytes) -> None:
    files = toy_files()
    files["tagger"]["tokenizer"] = data
    with pytest.raises(BuildError, match="no data that this version reads"):
        fetched(tmp_path, toy_front_end(tmp_path, files))


RHYMES = {f"{first}{rhyme}": f"{first}{sound}" for first in "bdfhlmnpst" for rhyme, sound in (
    ("ate", "ˈAt"), ("at", "ˈæt"), ("ight", "ˈIt"), ("ing", "ˈɪŋ"), ("ock", "ˈɑk"))}  # fmt: skip


def test_train_learns_rhymes() -> None:
    words = training_words(RHYMES | {"ab": "ˈæb", "a" * 17: "ˈA"})
    assert words == sorted(RHYMES.items())
    parts = align(words)
    assert all("".join(symbols) == phonemes for (_, phonemes), symbols in zip(words, parts, strict=True))
    model = train(words)
    assert model == train(words)
    letters = JointNgrams(model)
    assert {word: letters.read(word) for word in RHYMES} == RHYMES
    assert letters.read("stight") == "stˈIt"
    assert letters.read("中") is None


def test_joint_ngrams_reads_one_primary_stress() -> None:
    letters = JointNgrams(train(training_words(RHYMES | {"ofte": "əftə"})))
    assert letters.read("batbat").count("ˈ") == 1
    assert letters.read("ofte") == "ˈəftə"


def test_letter_network_prefers_a_graphone_by_letters_far_away() -> None:
    graphones = [("a", "A"), ("a", "a"), *((letter, letter) for letter in "bfns")]
    count = len(graphones) + 1
    columns = [[count] + [0] * count, [0, *range(count)], [0, 8, 16, *[8] * (count - 2)], [0] * (count + 1)]
    model = pack_ngrams(graphones, [np.array(column) for column in columns])
    embedding = np.zeros((5, 27, 1), np.int8)
    embedding[2, 19] = 16  # s
    weights = np.zeros((2, 3, 1, 1), np.int8)
    weights[:, 2] = 1  # of the last of three letters
    tensors = {
        "network.embedding": embedding,
        "network.weights": weights,
        "network.biases": np.zeros((3, 1), np.int32),
        "network.layers": np.array([(0, 4), (1, 0), (4, 1), (0, 2)], np.int32),
        "network.us.weights": np.array([[4], [0], [0], [0]], np.int8),
        "network.us.biases": np.zeros(4, np.int32),
        "network.us.scores": np.array([-1, 0, 1, 2, -1, 3, -1], np.int32),
    }
    network = LetterNetwork(tensors, "us")
    assert network.read("banans").T.tolist() == [[128, 128, 0, 0, 256, 256]]
    assert network.read("banan").tolist() == [[0]] * 5
    assert network.costs(np.array([128.0]), 1, 3) == [0, 128]
    assert network.costs(np.array([128.0]), 3, 5) == [0, MAX_COST]
    without, letters = JointNgrams(model), JointNgrams(model, network)
    assert (without.read("banfas"), letters.read("banfas")) == ("bˈanfas", "bˈAnfAs")
    assert (without.read("banf"), letters.read("banf")) == ("bˈanf", "bˈanf")


@pytest.mark.parametrize("damage", [lambda packed: packed[:7], lambda packed: b"\x63" + packed[1:]])
def test_joint_ngrams_refuses_damaged_bytes(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ValueError, match="no joint n-gram model"):
        JointNgrams(damage(train(training_words(RHYMES)))).read("bat")


def test_convert_phones_learns_from_common_words(tmp_path: Path) -> None:
    phones = {"ate": "EY1 T", "at": "AE1 T", "ight": "AY1 T", "ing": "IH1 NG", "ock": "AA1 K"}
    lines = [f"{word} {word[0].upper()} {phones[word[1:]]} # a comment" for word in RHYMES]
    lines += ["bat(2) B EY1 T", "bat's B AE1 T S", "b. B IY1", "o'bait OW0 B EY1 T"]
    (tmp_path / "cmudict.dict").write_text("\n".join(lines), encoding="utf-8")
    cmudict = read_cmudict(tmp_path / "cmudict.dict")
    assert sorted(cmudict) == sorted([*RHYMES, "obait"])
    lexicon = {word: phonemes for word, phonemes in RHYMES.items() if word not in ("tate", "sock")}
    converted = convert_phones(cmudict, lexicon, lexicon.__contains__, british=False)
    assert (converted["tate"], converted["sock"]) == (["tˈAt"], ["sˈɑk"])
    assert convert_phones(cmudict, lexicon, lambda word: word != "bat", british=False) == {
        "bat": ["bˈæt", "bˈAt"]
    }


def test_convert_phones_writes_no_british_r_without_a_vowel_after_it(tmp_path: Path) -> None:
    lines = [f"ba{end}d B AA1 R {end.upper()} D" for end in "bdfgklmnpstvz"] + [
        "bar B AA1 R",
        "barn B AA1 R N",
    ]
    (tmp_path / "cmudict.dict").write_text("\n".join(lines), encoding="utf-8")
    cmudict = read_cmudict(tmp_path / "cmudict.dict")
    lexicon = {f"ba{end}d": f"bˈɑɹ{end}d" for end in "bdfgklmnpstvz"}
    assert convert_phones(cmudict, lexicon, lexicon.__contains__, british=True)["bar"] == ["bˈɑ"]
    (tmp_path / "cmudict.dict").write_text("nothing", encoding="utf-8")
    with pytest.raises(BuildError, match="no entries"):
        read_cmudict(tmp_path / "cmudict.dict")
