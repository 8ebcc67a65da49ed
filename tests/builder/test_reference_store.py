"""Cache of references."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from toys import PHONEMES

from kokoro_tvm.builder import reference_store as references
from kokoro_tvm.builder.reference_store import ReferenceStore, _digest_path, divide
from kokoro_tvm.common.errors import BuildError, RecipeError
from kokoro_tvm.model.checkpoint_files import FILES
from kokoro_tvm.recipe import UtteranceSpec

HELLO = UtteranceSpec(name="other", phonemes=PHONEMES, voice="am_adam")
SHORT = UtteranceSpec(name="short", phonemes="hə", voice="af_heart", speed=1.5, seed=4)


@pytest.fixture
def output() -> list[str]:
    return []


@pytest.fixture
def store(toy: Path, tmp_path: Path, output: list[str]) -> ReferenceStore:
    """Return a cache with a copy of the toy's references."""
    kept = toy.parent / "reference" / "toy-model"
    shutil.copytree(kept, tmp_path / "kept")
    return ReferenceStore(toy.parent / "checkpoint" / "toy-model", tmp_path / "kept", output.append)


def test_store_ignores_names_of_utterances(store: ReferenceStore, output: list[str]) -> None:
    (result,) = store.references([HELLO])
    assert (result.name, result.phonemes, result.voice) == ("other", PHONEMES, "am_adam")
    assert output == []


def test_store_computes_misses_once(store: ReferenceStore, output: list[str]) -> None:
    first, hello, again = store.references([SHORT, HELLO, SHORT.model_copy(update={"name": "again"})])
    assert (first.name, hello.name, again.name) == ("short", "other", "again")
    assert first.speed == 1.5 and first.seed == 4
    assert len([line for line in output if "end to end" in line]) == 2  # in float64 and in float32
    np.testing.assert_array_equal(first.truth.audio, again.truth.audio)
    output.clear()
    (kept,) = store.references([SHORT])
    assert output == []
    np.testing.assert_array_equal(kept.fed_dynamic.f0, first.fed_dynamic.f0)
    for changed in ({"seed": 5}, {"speed": 1.6}, {"voice": "am_adam"}, {"phonemes": "həl"}):
        assert store._path(SHORT.model_copy(update=changed), "") != store._path(SHORT, "")


def test_divide_balances_lengths() -> None:
    long, fast, short = (
        SHORT.model_copy(update=change)
        for change in ({"phonemes": "h" * 98, "speed": 1.0}, {"phonemes": "h" * 98, "speed": 2.0}, {})
    )
    assert divide([short, fast, long], 2) == [[long], [fast, short]]
    assert divide([short, long], 5) == [[long], [short]]
    assert divide([short, fast, long], 1) == [[long, fast, short]]


@pytest.mark.slow("computes the references twice")
def test_store_computes_the_same_bytes_again(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed in another process, on one core or two."""
    checkpoint, kept = (toy.parent / name / "toy-model" for name in ("checkpoint", "reference"))
    utterances = [SHORT, HELLO.model_copy(update={"name": "hello"})]
    results = []
    for cores in (1, 2):
        monkeypatch.setattr(references, "usable_cores", lambda cores=cores: cores)
        store = ReferenceStore(checkpoint, tmp_path / str(cores))
        store.references(utterances)
        results.append([store._path(u, ".safetensors").read_bytes() for u in utterances])
    assert results[0] == results[1]
    assert ReferenceStore(checkpoint, kept)._path(utterances[1], ".safetensors").read_bytes() == results[0][1]


def test_store_caches_steps(store: ReferenceStore, output: list[str]) -> None:
    steps = store.steps(SHORT)
    assert steps.keys() == {"pt.float64", "pt.dynamic"}
    output.clear()
    again = store.steps(SHORT)
    assert output == []
    np.testing.assert_array_equal(again["pt.float64"].values["source"], steps["pt.float64"].values["source"])


def test_store_replaces_damaged_files(store: ReferenceStore, output: list[str]) -> None:
    """The file of the shorter utterance, with the digest of the other."""
    path, kept = (store._path(utterance, ".safetensors") for utterance in (SHORT, HELLO))
    path.write_bytes(kept.read_bytes()[:100])
    shutil.copy(_digest_path(kept), _digest_path(path))
    (result,) = store.references([SHORT])
    assert any("is not as it was written. It is made again." in line for line in output)
    assert result.truth.audio.size > 600


def test_store_deletes_files_of_other_code(
    toy: Path, store: ReferenceStore, output: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.folder
    assert before.is_dir()
    monkeypatch.setattr(references, "versions", lambda *names: {"torch": "another"})
    other = ReferenceStore(toy.parent / "checkpoint" / "toy-model", before.parents[1], output.append)
    assert other.folder != before
    other.references([SHORT])
    assert output != []
    assert [path.name for path in before.parent.iterdir()] == [other.folder.name]


def test_folder_depends_on_the_weights(toy: Path, store: ReferenceStore, tmp_path: Path) -> None:
    """Two conversions of one source have the same digest of the source in their metadata."""
    other = Path(shutil.copytree(toy.parent / "checkpoint" / "toy-model", tmp_path / "other"))
    same = ReferenceStore(other, store.folder.parents[1]).folder
    weights = other / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-4] ^= 1
    weights.unlink()
    weights.write_bytes(data)
    assert same == store.folder
    assert ReferenceStore(other, store.folder.parents[1]).folder != store.folder


def test_store_rejects_a_missing_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"There is no checkpoint in .*`doit`"):
        ReferenceStore(tmp_path, tmp_path)


def test_store_rejects_an_unknown_voice(store: ReferenceStore) -> None:
    with pytest.raises(RecipeError, match="asks for the voice 'af_nobody'"):
        store.references([SHORT.model_copy(update={"voice": "af_nobody"})])


@pytest.mark.parametrize("damage", ["none", "a byte", "the end", "not sealed", "seal damaged"])
def test_store_ignores_incomplete_files(tmp_path: Path, damage: str) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes(b"")
    result: list[str] = []
    store = ReferenceStore(tmp_path, tmp_path, result.append)
    store.__dict__["folder"] = tmp_path / "by-digest"  # found from the checkpoint, which is none
    path = store._path(SHORT, ".safetensors")
    path.parent.mkdir()
    store._save(lambda made, to: to.write_bytes(made), b"spoken", path)
    seal = _digest_path(path)
    if damage == "a byte":
        path.write_bytes(b"sposen")
    elif damage == "the end":
        path.write_bytes(b"spok")
    elif damage == "not sealed":
        seal.unlink()
    elif damage == "seal damaged":
        seal.write_bytes(b"\xff")
    found = store._load(SHORT, ".safetensors", Path.read_bytes)
    assert found == (b"spoken" if damage == "none" else None)
    assert result == ([] if damage == "none" else [f"{path} is not as it was written. It is made again."])
