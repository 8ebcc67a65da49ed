"""The statement a bundle carries: the public schemas, nothing personal, the same bytes every time.

The schemas are written from the specifications: in-toto Statement v1 (attestation/spec/v1/statement.md,
resource_descriptor.md, digest_set.md, field_types.md) and SLSA provenance v1 (slsa.dev/spec/v1.0/provenance).
"""

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
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kokoro_tvm.builder.stages.provenance import gate_values, parameters, statement
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.recipe.parts import LanguageSpec
from kokoro_tvm.runtime.bundle.provenance import read_provenance

ROOT = Path(__file__).parents[3]
RECIPE = load_recipe("cpu", ROOT / "recipes")
URI = r"^[a-z][a-z0-9+.-]*:[^\s]+$"
HEX = {"sha256": 64, "sha512": 128, "sha1": 40, "gitCommit": 40}


class Schema(BaseModel):
    """Unknown fields are allowed by both specifications; ours are checked not to have any."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResourceDescriptor(Schema):
    name: str | None = None
    uri: str | None = Field(default=None, pattern=URI)
    digest: dict[str, str] | None = None
    content: str | None = None
    downloadLocation: str | None = Field(default=None, pattern=URI)  # noqa: N815  (the specification's names)
    mediaType: str | None = None  # noqa: N815
    annotations: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _points_at_something(self) -> ResourceDescriptor:
        assert self.uri or self.digest or self.content
        for algorithm, value in (self.digest or {}).items():
            assert re.fullmatch(f"[0-9a-f]{{{HEX[algorithm]}}}", value)
        return self


class Subject(ResourceDescriptor):
    digest: dict[str, str]


class BuildDefinition(Schema):
    buildType: str = Field(pattern=URI)  # noqa: N815
    externalParameters: dict[str, Any]  # noqa: N815
    internalParameters: dict[str, Any] = {}  # noqa: N815
    resolvedDependencies: list[ResourceDescriptor] = []  # noqa: N815


class Builder(Schema):
    id: str = Field(pattern=URI)
    builderDependencies: list[ResourceDescriptor] = []  # noqa: N815
    version: dict[str, str] = {}


class BuildMetadata(Schema):
    invocationId: str | None = None  # noqa: N815
    startedOn: str | None = Field(default=None, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")  # noqa: N815
    finishedOn: str | None = Field(default=None, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")  # noqa: N815


class RunDetails(Schema):
    builder: Builder
    metadata: BuildMetadata | None = None
    byproducts: list[ResourceDescriptor] = []


class Provenance(Schema):
    buildDefinition: BuildDefinition  # noqa: N815
    runDetails: RunDetails  # noqa: N815


class Statement(Schema):
    type: str = Field(alias="_type", pattern=r"^https://in-toto\.io/Statement/v1$")
    subject: list[Subject] = Field(min_length=1)
    predicateType: str = Field(pattern=r"^https://slsa\.dev/provenance/v1$")  # noqa: N815
    predicate: Provenance

    @model_validator(mode="after")
    def _subjects_are_told_apart(self) -> Statement:
        names = [subject.name for subject in self.subject]
        assert len(set(names)) == len(names)
        return self


def made(**changes: Any) -> dict[str, Any]:
    result: dict[str, Any] = {
        "files": {"bundle.json": "b" * 64, "bert-512.so": "a" * 64},
        "recipe": parameters(RECIPE),
        "checkpoint": {"weights.safetensors": "c" * 64, "config.json": "d" * 64},
        "weights": "e" * 64,
        "front_end": {"tagger": {"tokenizer": "9" * 64}},
        "reports": {"bert-512/validation.json": ("f" * 64, {"passed": True, "gates": {}})},
        "toolchain": {"python": "3.11.9", "torch": "2.13.0+cpu", "apache-tvm": "0.27.0.post1"},
        "compiler": {"llvm": "22", "linker": "g++ (GCC) 14.2.0"},
    }
    return statement(**result | changes)


def test_it_meets_the_public_schemas() -> None:
    result = Statement.model_validate(made())
    assert {s.name: s.digest["sha256"] for s in result.subject} == {
        "bert-512.so": "a" * 64,
        "bundle.json": "b" * 64,
    }
    definition = result.predicate.buildDefinition
    assert definition.externalParameters["recipe"]["target"]["mcpu"] == "native"
    assert definition.internalParameters == {"python": "3.11.9", "llvm": "22", "linker": "g++ (GCC) 14.2.0"}
    uris = [d.uri for d in definition.resolvedDependencies if d.uri]
    assert uris == ["pkg:pypi/apache-tvm@0.27.0.post1", "pkg:pypi/torch@2.13.0%2Bcpu"]
    assert {"checkpoint", "weights.safetensors", "config.json"} <= {
        d.name for d in definition.resolvedDependencies
    }
    assert [b.name for b in result.predicate.runDetails.byproducts] == ["bert-512/validation.json"]


def test_it_has_the_value_of_every_gate_that_is_nearest_to_its_limit() -> None:
    def verdict(gate: str, value: float | str, limit: float | None, output: str = "") -> dict[str, Any]:
        return {"output": output, "gate": gate, "value": value, "limit": limit, "status": ""}

    report = {
        "passed": True,
        "utterances": [
            {
                "status": "passed",
                "verdicts": [verdict("min_snr_db", 61.5, 60, "f0"), verdict("max_lsd_db", 0.1, 0.5)],
            },
            {
                "status": "passed",
                "verdicts": [verdict("min_snr_db", "inf", 60, "f0"), verdict("max_lsd_db", 0.2, 0.5)],
            },
            {"status": "passed", "verdicts": [verdict("min_gain_db", 3, None)]},
            {"status": "not run: longer than the bucket", "verdicts": []},
        ],
        "overall": [verdict("min_median_gain_db", 12, 10)],
    }
    values = gate_values(report)
    assert values == {
        "passed": True,
        "gates": {
            "f0.min_snr_db": {"limit": 60, "value": 61.5},
            "max_lsd_db": {"limit": 0.5, "value": 0.2},
            "min_median_gain_db": {"limit": 10, "value": 12},
        },
    }
    stated = made(reports={"bert-512/validation.json": ("f" * 64, values)})
    (byproduct,) = Statement.model_validate(stated).predicate.runDetails.byproducts
    assert byproduct.annotations == values


def test_it_says_why_gates_were_not_run() -> None:
    utterance = {"status": "not run: no runner for arm64-apple-ios", "verdicts": []}
    assert gate_values({"passed": False, "utterances": [utterance], "overall": []}) == {
        "passed": False,
        "gates": {},
        "not_run": "no runner for arm64-apple-ios",
    }


def test_it_has_the_languages_of_a_model_that_names_its_own() -> None:
    german = {"d": {"name": "German", "espeak": "de"}}
    languages = {"d": LanguageSpec(name="German", espeak="de")}
    assert parameters(RECIPE.model_copy(update={"languages": languages}))["languages"] == german
    assert parameters(RECIPE)["languages"] is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda result: result.pop("_type"),
        lambda result: result.update(_type="https://in-toto.io/Statement/v0.1"),
        lambda result: result.update(subject=[]),
        lambda result: result["subject"][0].pop("digest"),
        lambda result: result["subject"][0]["digest"].update(sha256="ABC"),
        lambda result: result["subject"].append(result["subject"][0]),
        lambda result: result["predicate"]["buildDefinition"].update(buildType="kokoro"),
        lambda result: result["predicate"]["buildDefinition"].pop("externalParameters"),
        lambda result: result["predicate"]["runDetails"].pop("builder"),
        lambda result: result["predicate"]["runDetails"].update(metadata={"startedOn": "today"}),
    ],
)
def test_the_schemas_refuse_what_the_specifications_do(spoil: Callable[[dict[str, Any]], object]) -> None:
    result = copy.deepcopy(made())
    spoil(result)
    with pytest.raises(ValidationError):
        Statement.model_validate(result)


def test_it_holds_no_time_no_folder_and_nobody() -> None:
    text = json.dumps(made())
    for word in (str(Path.home()), str(ROOT), platform.node(), getpass.getuser()):
        assert f"{word}/" not in text
        assert f'"{word}"' not in text
    assert "metadata" not in made()["predicate"]["runDetails"]


def test_only_what_the_files_are_made_of_counts_of_the_recipe() -> None:
    other = RECIPE.model_copy(update={"timeout_s": 7, "sets": (), "utterances": RECIPE.utterances[:1]})
    assert parameters(other) == parameters(RECIPE)
    assert parameters(RECIPE.model_copy(update={"precision": "bfloat16"})) != parameters(RECIPE)


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(
    files=st.dictionaries(names, digests, min_size=1), checkpoint=st.dictionaries(names, digests),
    reports=st.dictionaries(names, st.tuples(digests, st.just({"passed": True, "gates": {}}))),
    toolchain=st.dictionaries(st.sampled_from(["torch", "numpy", "kokoro"]), names),
)  # fmt: skip
@settings(deadline=None, max_examples=50)
def test_order_changes_nothing_and_it_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, **result: dict[str, str]
) -> None:
    result["toolchain"]["python"] = "3.11.9"
    turned = {name: dict(reversed(value.items())) for name, value in result.items()}
    text = json.dumps(made(**result))
    assert json.dumps(made(**turned)) == text
    Statement.model_validate_json(text)
    path = tmp_path_factory.mktemp("p") / "provenance.json"
    path.write_text(text, encoding="utf-8")
    found = read_provenance(path)
    assert found.subjects == result["files"]
    assert found.recipe == parameters(RECIPE)
    assert {**result["checkpoint"]}.items() <= found.dependencies.items() or set(result["checkpoint"]) & {
        "checkpoint", "torch", "numpy", "kokoro",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spoil", "result"),
    [
        (lambda s: s.update(_type="x"), "'_type' is 'x', not 'https://in-toto.io/Statement/v1'"),
        (lambda s: s.pop("predicate"), "lacks 'predicate'"),
        (lambda s: s["subject"][0].update(digest={"sha256": "0"}), "'0' is no SHA-256"),
        (lambda s: s["predicate"]["buildDefinition"].update(buildType="urn:x:y"), "'buildType' is 'urn:x:y'"),
        (lambda s: s["predicate"]["runDetails"]["builder"].pop("id"), "lacks 'id'"),
    ],
)
def test_a_statement_that_makes_no_sense_is_refused(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], object], result: str
) -> None:
    path = tmp_path / "provenance.json"
    given = copy.deepcopy(made())
    spoil(given)
    path.write_text(json.dumps(given), encoding="utf-8")
    with pytest.raises(BundleError, match=re.escape(result)):
        read_provenance(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "\0"])
def test_no_statement_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "provenance.json"
    with pytest.raises(BundleError, match="is missing"):
        read_provenance(path)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match=r"no readable JSON|should be a JSON object"):
        read_provenance(path)
