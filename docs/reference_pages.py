"""Writes the generated parts of the pages: options of commands, fields of recipes, written forms, examples.

.venv/bin/python docs/reference_pages.py
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import typer
from markdown_tables import replace
from pydantic import BaseModel
from recipe_fields import documented_fields
from yaml import safe_load

from kokoro_tvm.cli import build_app
from kokoro_tvm.serving import requests
from kokoro_tvm.serving.settings import Settings

DOCS = Path(__file__).parent
CASES = DOCS.parent / "tests" / "runtime" / "text" / "frontend" / "cases"
ENGLISH = CASES.with_name("written_forms.yaml")
BINDINGS = DOCS.parent / "tests" / "native" / "libkokoro" / "bindings"
OF_A_CATEGORY = 4
AS_IN_SPEECH = "As in `/v1/audio/speech`."
MANY = 3  # commands that have an option, which is then shown once


def commands(command: Any, path: str = "kokoro-tvm") -> Iterator[tuple[str, Any]]:
    """(name, command) of every command that does something, and of the root for its options."""
    subcommands = getattr(command, "commands", {})
    if not subcommands or path == "kokoro-tvm" or command.invoke_without_command:
        yield path, command
    for name, inner in subcommands.items():
        yield from commands(inner, f"{path} {name}")


def command_tables() -> dict[str, str]:
    """Arguments and options of every command by its name, and under `shared` those that many have."""
    rows = {
        name: [
            (_name(parameter), _default(parameter), parameter.help or "")
            for parameter in command.params
            if "--help" not in parameter.opts
        ]
        for name, command in commands(typer.main.get_command(build_app()))
    }
    counts = Counter(row for own in rows.values() for row in own)
    shared = [row for row, count in counts.items() if count >= MANY]
    own = {name: [row for row in listed if row not in shared] for name, listed in rows.items()}
    headings = ("argument, option", "default", "meaning")
    return {name: _table(headings, listed) for name, listed in {**own, "shared": shared}.items() if listed}


def field_table(record: str, sources: bool = False) -> str:
    """Fields of `TargetFile` or `ModelFile`: those of the checkpoint's sources, or all others."""
    fields = [f for f in documented_fields(record) if f.path.startswith("checkpoint.sources") is sources]
    rows = [(f"`{f.path}`", f.value, f.default, f.description) for f in fields]
    return _table(("field", "value", "default", "meaning"), rows)


def request_table(record: type[BaseModel], base: type[BaseModel] | None = None) -> str:
    """Table of a request's fields, without those of its base; fields as in another route share a row."""
    requests.LIMITS.set(Settings())
    schema = record.model_json_schema()
    schema = schema.get("anyOf", [schema])[0]
    rows = [
        (f"`{name}`", _value(field), _field_default(name, field, schema), _join(field["description"]))
        for name, field in schema["properties"].items()
        if base is None or name not in base.model_fields
    ]
    same = [row[0] for row in rows if row[3] == AS_IN_SPEECH]
    rows = [row for row in rows if row[3] != AS_IN_SPEECH]
    rows += [(", ".join(same), "", "", AS_IN_SPEECH)] if same else []
    return _table(("field", "value", "default", "meaning"), rows)


def forms_table(cases: Path) -> str:
    """The first written forms of every category of a language's cases, and what is read for each."""
    rows: list[tuple[str, ...]] = []
    for category, forms in safe_load(cases.read_text(encoding="utf-8")).items():
        for place, form in enumerate(forms[:OF_A_CATEGORY]):
            rows.append(("" if place else category, f"`{form['written']}`", form["spoken"]))
    return _table(("category", "written", "read as"), rows)


def english_table() -> str:
    """All written forms of English, and what misaki has for them where that is something else."""
    rows: list[tuple[str, ...]] = []
    for category, forms in safe_load(ENGLISH.read_text(encoding="utf-8")).items():
        for place, form in enumerate(forms):
            written = f"`` {form['written']} ``" if "`" in form["written"] else f"`{form['written']}`"
            spoken = form["spoken"] + (" (British)" if form.get("british") else "")
            misaki = f"`{form['misaki']}`" if form.get("misaki") else "the same"
            rows.append(("" if place else category, written, spoken, misaki))
    return _table(("category", "written", "read here as", "misaki 0.9.4"), rows)


def shown(program: str, language: str) -> str:
    """What a program of the bindings, which tests run, has between the comments that say so."""
    lines = (BINDINGS / program).read_text(encoding="utf-8").splitlines()
    first, last = (
        next(i for i, line in enumerate(lines) if line.strip() == f"// {comment}")
        for comment in ("shown in docs/c.md", "until here")
    )
    return f"```{language}\n{dedent(chr(10).join(lines[first + 1 : last]))}\n```"


def _setting_default(value: Any) -> str:
    return "" if value in (None, ()) else f"`{json.dumps(value)}`"


def _join(text: str) -> str:
    return " ".join(text.split())


def _field_default(name: str, field: Any, schema: Any) -> str:
    if name in schema.get("required", ()):
        return "required"
    return "" if field.get("default") is None else f"`{json.dumps(field['default'])}`"


def _value(schema: Any) -> str:
    """Describe the type of a JSON schema."""
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        return " or ".join(_value(choice) for choice in choices if choice != {"type": "null"})
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "minimum" in schema:
        high = "2**64 - 1" if schema["maximum"] == 2**64 - 1 else f"{schema['maximum']:g}"
        return f"{schema['type']}, {schema['minimum']:g} to {high}"
    kind = schema.get("type", "object")
    if kind == "string":
        return f"string of up to {schema['maxLength']} characters"
    return str({"array": "list"}.get(kind, kind))


def generated() -> dict[tuple[str, str], str]:
    """(page, marker) -> what stands between its markers."""
    found = {("recipes.md", record): field_table(record) for record in ("TargetFile", "ModelFile")}
    found["recipes.md", "sources"] = field_table("ModelFile", sources=True)
    found["written-forms/en.md", "written forms"] = english_table()
    for language in ("es", "fr", "it", "pt", "hi", "ja", "zh"):
        found[f"written-forms/{language}.md", f"written forms {language}"] = forms_table(
            CASES / f"{language}.yaml"
        )
    rows = [
        (f"`{name}`", _setting_default(field.default), _join(field.description or ""))
        for name, field in Settings.model_fields.items()
    ]
    found["serving.md", "settings"] = _table(("setting", "default", "meaning"), rows)
    speech = requests.SpeechRequest
    found["serving.md", "SpeechRequest"] = request_table(speech)
    found["serving.md", "CaptionedRequest"] = request_table(requests.CaptionedRequest, speech)
    for record in (
        requests.NormalizationOptions,
        requests.PhonemizeRequest,
        requests.PhonemesRequest,
        requests.CombineRequest,
        requests.SsmlRequest,
        requests.DialogueRequest,
        requests.DialogueTurn,
    ):
        found["serving.md", record.__name__] = request_table(record)
    for program, language in (("say.rs", "rust"), ("Say.java", "java"), ("Say.cs", "csharp")):
        found["c.md", program] = shown(program, language)
    found |= {("commands.md", name): table for name, table in command_tables().items()}
    return found


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{(parameter.metavar or parameter.name).strip('[].{}').upper()}`"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    return f"{names} `{parameter.metavar}`" if parameter.metavar else names


def _default(parameter: Any) -> str:
    shown = parameter.show_default
    if isinstance(shown, str):
        return shown
    value = parameter.default
    if value is None or value is False or callable(value) or not str(value):
        return ""
    return f"`{value}`"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [list(head), ["---"] * len(head), *escaped]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    for (page, marker), content in generated().items():
        replace(DOCS / page, marker, content)
