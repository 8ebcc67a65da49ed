"""What sources yield: their bytes decide, and neither their places nor their neighbours."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tiny_model import CONFIG, VOICES

from kokoro_tvm.model.yields import yields
from kokoro_tvm.recipe.checkpoint import Checkpoint

words = st.text("abcdefgh", min_size=1, max_size=6)
digests = st.sampled_from(["1" * 64, "2" * 64, "3" * 64])
versions = st.integers(0, 9).map(lambda n: f"{n}.0.0")
files = st.builds("{}.{}".format, words, st.sampled_from(["pth", "safetensors", "onnx"]))
sources = st.one_of(
    st.fixed_dictionaries({"kind": st.just("file"), "path": files, "sha256": digests, "voices": words}),
    st.fixed_dictionaries(
        {
            "kind": st.just("huggingface"),
            "repo": words.map("owner/{}".format),
            "revision": digests.map(lambda digest: digest[:40]),
            "weights": st.fixed_dictionaries({"file": files, "sha256": digests}),
            "voices": words,
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("npm"),
            "packages": st.tuples(st.fixed_dictionaries({"name": words, "version": versions})),
            "shards": st.fixed_dictionaries(
                {
                    "pattern": words.map(lambda word: word + "{}"),
                    "count": st.integers(1, 9),
                    "size": st.integers(1, 99),
                    "sha256": digests,
                }
            ),
            "voices": st.fixed_dictionaries({"package": words, "version": versions, "folder": words}),
        }
    ),
)


def checkpoint(*listed: dict[str, Any], **pins: Any) -> Checkpoint:
    return Checkpoint.model_validate({"config": CONFIG, "voices": VOICES, "sources": listed, **pins})


def pin(source: dict[str, Any]) -> tuple[str, str]:
    """Format and digest of a source's weights."""
    if source["kind"] == "npm":
        return "onnx", source["shards"]["sha256"]
    if source["kind"] == "huggingface":
        return source["weights"]["file"].rpartition(".")[2], source["weights"]["sha256"]
    return source["path"].rpartition(".")[2], source["sha256"]


@given(listed=st.lists(sources, min_size=1, max_size=6))
def test_yields_are_distinct_and_in_source_order(listed: list[dict[str, Any]]) -> None:
    values = yields(checkpoint(*listed))
    assert [(value["format"], value["weights"]) for value in values] == list(dict.fromkeys(map(pin, listed)))


@given(listed=st.lists(sources, min_size=1, max_size=4), other=sources, data=st.data())
def test_yield_ignores_order_and_other_sources(
    listed: list[dict[str, Any]], other: dict[str, Any], data: st.DataObject
) -> None:
    shuffled = yields(checkpoint(*data.draw(st.permutations([*listed, other]))))
    assert all(value in shuffled for value in yields(checkpoint(*listed)))


@given(source=sources, digest=digests)
def test_yield_depends_on_every_digest(source: dict[str, Any], digest: str) -> None:
    pins = (
        {},
        {"config": CONFIG | {"sha256": digest}},
        {"voices": VOICES | {"sha256": digest}},
        {"voices": VOICES | {"names": tuple(reversed(VOICES["names"]))}},
    )
    values = [yields(checkpoint(source, **other)) for other in pins]
    assert all(value not in values[:index] for index, value in enumerate(values))


def test_yield_of_a_synthetic_source_is_its_seed_and_size() -> None:
    drawn = [{"kind": "synthetic", "seed": s, "size": z} for s in (0, 1) for z in ("toy", "full")]
    values = [yields(checkpoint(source))[0] for source in drawn]
    assert all(value not in values[:index] for index, value in enumerate(values))
    assert all("voices" not in value and "weights" not in value for value in values)
