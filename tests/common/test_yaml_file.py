"""YAML with positions: what unquoted words mean, what is refused, and where nodes are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.common.errors import InputError, RecipeError
from kokoro_tvm.common.yaml_file import MAX_BYTES, YamlText, parse_scalar, parse_yaml, read_text


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("null", None),
        ("-7", -7),
        ("0.9999", 0.9999),
        ("1e-5", 1e-5),
        ("-2.5E+3", -2500.0),
        ("1.0.0", "1.0.0"),
        ("+avx512f", "+avx512f"),
        ("NaN", "NaN"),
        ("é no", "é no"),
    ],
)
def test_parse_scalar_returns_values_of_json_and_text(word: str, value: object) -> None:
    result = parse_scalar(word)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "No",
        "ON",
        "off",
        "True",
        "~",
        "Null",
        "010",
        "0x1F",
        "0b101",
        "1_000",
        "1:30",
        "12:30.5",
        "+5",
        ".5",
        "5.",
        ".inf",
        "-.INF",
        ".nan",
        "2026-01-31",
    ],
)
def test_parse_scalar_refuses_words_of_several_meanings(word: str) -> None:
    with pytest.raises(ValueError, match=r"write|put it in quotes"):
        parse_scalar(word)


def test_parse_yaml_keeps_the_places_of_keys_and_values() -> None:
    tree = parse_yaml(YamlText("a.yaml", "a: 1\nb:\n  - {c: two}\n"))
    assert tree.data() == {"a": 1, "b": ({"c": "two"},)}
    node = tree.entries["b"].items[0].entries["c"]
    assert (node.key.line, node.key.column, node.span.line, node.span.column) == (3, 6, 3, 9)


def test_parse_yaml_returns_scalars_as_text_on_request() -> None:
    tree = parse_yaml(YamlText("a.yaml", "no: 1984\n1: [off, ~x]\n"), strings=True)
    assert tree.data() == {"no": "1984", "1": ("off", "~x")}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: &x b\nc: *x\n", "1:4"),
        ("a: [*x]\n", "1:5"),
        ("a: !!python/name:os.system b\n", "1:4"),
        ("a: b\nc: d\na: e\n", "3:1"),
        ("a: b\n---\nc: d\n", "2:1"),
        ("a: b\r\nc: [d\r\n", "2:4"),
        ("a: \x07\n", "1:4"),
        ("a: " + "[" * 100_000, "1:1"),
        ("- a\n", "1:1"),
    ],
)
def test_parse_yaml_reports_the_place_as_the_error_of_the_source(text: str, place: str) -> None:
    with pytest.raises(InputError, match=rf"^a\.yaml:{place}: "):
        parse_yaml(YamlText("a.yaml", text, InputError))


def test_parse_yaml_refuses_collections_below_max_depth() -> None:
    source = YamlText("a.yaml", "a: b\nc: [d, [e]]\n")
    assert parse_yaml(source, max_depth=3).data() == {"a": "b", "c": ("d", ("e",))}
    with pytest.raises(RecipeError, match=r"^a\.yaml:2:8: text should stand here, not a list or a mapping"):
        parse_yaml(source, max_depth=2)


@given(st.text(st.characters(codec="utf-8"), max_size=200))
@settings(deadline=None, max_examples=200)
def test_parse_yaml_returns_a_mapping_or_raises_an_error_with_a_place(text: str) -> None:
    try:
        assert isinstance(parse_yaml(YamlText("x.yaml", text)).data(), dict)
    except RecipeError as error:
        assert str(error).startswith("x.yaml:")


def test_read_text_refuses_a_file_larger_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(RecipeError, match="larger than 8 MiB"):
        read_text(path)
