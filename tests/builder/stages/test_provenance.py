"""The provenance statement of a bundle: in-toto Statement v1 with SLSA provenance v1."""

from __future__ import annotations

import copy
import getpass
import json
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm import __version__
from kokoro_tvm.builder.stages.provenance import gate_values, parameters, statement
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.recipe.parts import LanguageSpec
from kokoro_tvm.runtime.bundle.provenance import read_provenance

ROOT = Path(__file__).parents[3]
RECIPE = load_recipe("cpu", ROOT / "recipes")


def make_statement(**changes: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "files": {"bundle.json": "b" * 64, "bert-512.so": "a" * 64},
        "recipe": parameters(RECIPE),
        "checkpoint": {"weights.safetensors": "c" * 64},
        "weights": "e" * 64,
        "front_end": {"tagger": {"tokenizer": "9" * 64}},
        "reports": {"bert-512/validation.json": ("f" * 64, {"passed": True, "gates": {}})},
        "toolchain": {"python": "3.11.9", "torch": "2.13.0+cpu", "apache-tvm": "0.27.0.post1"},
        "compiler": {"llvm": "22", "linker": "g++ (GCC) 14.2.0"},
    }
    return statement(**arguments | changes)


def resource(name: str, digit: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": digit * 64}, **more}


def test_statement_has_the_fields_of_both_specifications() -> None:
    """Specifications: in-toto.io/Statement/v1, slsa.dev/spec/v1.0/provenance."""
    assert make_statement() == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [resource("bert-512.so", "a"), resource("bundle.json", "b")],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:kokoro-tvm:bundle:v1",
                "externalParameters": {"recipe": parameters(RECIPE)},
                "internalParameters": {"python": "3.11.9", "llvm": "22", "linker": "g++ (GCC) 14.2.0"},
                "resolvedDependencies": [
                    resource("checkpoint", "e"),
                    resource("weights.safetensors", "c"),
                    resource("tagger/tokenizer", "9"),
                    {"name": "apache-tvm", "uri": "pkg:pypi/apache-tvm@0.27.0.post1"},
                    {"name": "torch", "uri": "pkg:pypi/torch@2.13.0%2Bcpu"},
                ],
            },
            "runDetails": {
                "builder": {"id": "urn:kokoro-tvm:build", "version": {"kokoro-tvm": __version__}},
                "byproducts": [
                    resource("bert-512/validation.json", "f", annotations={"passed": True, "gates": {}})
                ],
            },
        },
    }


def test_statement_names_no_folder_machine_or_user() -> None:
    text = json.dumps(make_statement())
    for word in (str(Path.home()), str(ROOT), platform.node(), getpass.getuser()):
        assert f"{word}/" not in text
        assert f'"{word}"' not in text


def test_gate_values_are_those_nearest_to_their_limits() -> None:
    def verdict(gate: str, value: float | str, limit: float | None, output: str = "") -> dict[str, Any]:
        return {"output": output, "gate": gate, "value": value, "limit": limit, "status": ""}

    utterances = [
        [verdict("min_snr_db", 61.5, 60, "f0"), verdict("max_lsd_db", 0.1, 0.5)],
        [verdict("min_snr_db", "inf", 60, "f0"), verdict("max_lsd_db", 0.2, 0.5)],
        [verdict("min_gain_db", 3, None)],
    ]
    report = {
        "passed": True,
        "utterances": [
            *({"status": "passed", "verdicts": verdicts} for verdicts in utterances),
            {"status": "not run: longer than the bucket", "verdicts": []},
        ],
        "overall": [verdict("min_median_gain_db", 12, 10)],
    }
    assert gate_values(report) == {
        "passed": True,
        "gates": {
            "f0.min_snr_db": {"limit": 60, "value": 61.5},
            "max_lsd_db": {"limit": 0.5, "value": 0.2},
            "min_median_gain_db": {"limit": 10, "value": 12},
        },
    }


def test_gate_values_say_why_gates_were_not_run() -> None:
    utterance = {"status": "not run: no runner for arm64-apple-ios", "verdicts": []}
    assert gate_values({"passed": False, "utterances": [utterance], "overall": []}) == {
        "passed": False,
        "gates": {},
        "not_run": "no runner for arm64-apple-ios",
    }


def test_parameters_are_what_decides_about_the_files() -> None:
    other = RECIPE.model_copy(update={"timeout_s": 7, "sets": (), "utterances": RECIPE.utterances[:1]})
    assert parameters(other) == parameters(RECIPE)
    assert parameters(RECIPE.model_copy(update={"precision": "bfloat16"})) != parameters(RECIPE)
    languages = {"d": LanguageSpec(name="German", espeak="de")}
    german = parameters(RECIPE.model_copy(update={"languages": languages}))["languages"]
    assert german == {"d": {"name": "German", "espeak": "de"}}


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(files=st.dictionaries(names, digests, min_size=1), checkpoint=st.dictionaries(names, digests))
@settings(deadline=None, max_examples=50)
def test_statement_does_not_depend_on_order_and_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, **mappings: dict[str, str]
) -> None:
    text = json.dumps(make_statement(**mappings))
    reverse = {name: dict(reversed(value.items())) for name, value in mappings.items()}
    assert json.dumps(make_statement(**reverse)) == text
    path = tmp_path_factory.mktemp("p") / "provenance.json"
    path.write_text(text, encoding="utf-8")
    provenance = read_provenance(path)
    assert provenance.subjects == mappings["files"]
    assert provenance.recipe == parameters(RECIPE)
    assert mappings["checkpoint"].keys() <= provenance.dependencies.keys()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: s.update(_type="x"), "'_type' is 'x', not 'https://in-toto.io/Statement/v1'"),
        (lambda s: s.pop("predicate"), "lacks 'predicate'"),
        (lambda s: s["subject"][0].update(digest={"sha256": "0"}), "'0' is no SHA-256"),
        (lambda s: s["predicate"]["buildDefinition"].update(buildType="urn:x:y"), "'buildType' is 'urn:x:y'"),
        (lambda s: s["predicate"]["runDetails"]["builder"].pop("id"), "lacks 'id'"),
    ],
)
def test_read_provenance_refuses_a_wrong_statement(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = tmp_path / "provenance.json"
    spoiled = copy.deepcopy(make_statement())
    spoil(spoiled)
    path.write_text(json.dumps(spoiled), encoding="utf-8")
    with pytest.raises(BundleError, match=re.escape(message)):
        read_provenance(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "\0"])
def test_read_provenance_refuses_other_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "provenance.json"
    with pytest.raises(BundleError, match="is missing"):
        read_provenance(path)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match=r"no readable JSON|should be a JSON object"):
        read_provenance(path)
