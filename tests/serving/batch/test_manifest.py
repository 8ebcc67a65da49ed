"""Manifests of batches: valid lines, and messages about invalid ones."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.batch.manifest import BatchUtterance, read_manifest

GOLDEN = Path(__file__).parent / "golden"


def test_read_manifest_returns_utterances(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(
        '{"name": "one", "text": "Hello."}\r\n\n  \n'
        '{"name": "två.2", "phonemes": "abc", "voice": "v", "speed": 2, "seed": 7}',
        encoding="utf-8",
    )
    assert read_manifest(path) == (
        [
            BatchUtterance(1, "one", "Hello.", False, None, 1.0, 0),
            BatchUtterance(4, "två.2", "abc", True, "v", 2.0, 7),
        ],
        [],
    )


def test_read_manifest_describes_invalid_lines() -> None:
    utterances, bad = read_manifest(GOLDEN / "bad.jsonl")
    assert [each.name for each in utterances] == ["good", "better"]
    result = "".join(f"{each.line}: {each.message}\n" for each in bad)
    assert result == (GOLDEN / "bad.txt").read_text(encoding="utf-8")


def test_read_manifest_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl cannot be read: No such file or directory\."):
        read_manifest(tmp_path / "none.jsonl")


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([1])
FIELDS = st.sampled_from(["name", "text", "phonemes", "voice", "speed", "seed", "x"])
LINES = st.dictionaries(FIELDS, VALUES).map(lambda node: json.dumps(node).encode())


@given(st.lists(LINES | st.binary(max_size=9).filter(lambda line: b"\n" not in line)))
def test_read_manifest_accounts_for_every_line(lines: list[bytes]) -> None:
    with NamedTemporaryFile() as file:
        file.write(b"\n".join(lines))
        file.flush()
        utterances, bad = read_manifest(Path(file.name))
    result = sorted([each.line for each in utterances] + [each.line for each in bad])
    assert result == [number for number, line in enumerate(lines, 1) if line.strip()]
    assert len({each.name.lower() for each in utterances}) == len(utterances)


def test_read_manifest_reads_what_to_omit(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text(
        '{"name": "a", "text": "x", "omit": ["notes", "code"]}\n'
        '{"name": "b", "text": "x", "omit": ["verse"]}\n'
        '{"name": "c", "phonemes": "x", "omit": ["code"]}\n{"name": "d", "text": "x", "omit": "code"}\n'
    )
    utterances, bad = read_manifest(tmp_path / "lines.jsonl")
    assert [each.omit for each in utterances] == [("code", "notes")]
    assert ["no kind of text 'verse'" in bad[0].message, "not for `phonemes`" in bad[1].message] == [
        True,
        True,
    ]
    assert bad[2].message.startswith("`omit` should be a list")


def test_read_manifest_reads_the_language_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text(
        '{"name": "a", "text": "x", "language": "fr"}\n{"name": "b", "phonemes": "x", "language": "fr"}\n'
    )
    utterances, bad = read_manifest(tmp_path / "lines.jsonl")
    assert [each.language for each in utterances] == ["fr"]
    assert [each.message for each in bad] == ["`language` is for `text`, not for `phonemes`."]
