"""Records written as YAML, which `common.yaml_file` reads back to the same values."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import BaseModel

from kokoro_tvm.common.yaml_file import parse_scalar

_MAX_LINE_CHARACTERS = 100  # of a collection on one line


class _Dumper(yaml.SafeDumper):
    """YAML dumper with short collections on one line, quotes where they are needed, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        node = super().represent_mapping(tag, mapping, flow_style)
        node.flow_style = _fits([part for pair in node.value for part in pair])
        return node

    def represent_sequence(
        self, tag: str, sequence: Any, flow_style: bool | None = None
    ) -> yaml.SequenceNode:
        node = super().represent_sequence(tag, sequence, flow_style)
        node.flow_style = _fits(node.value)
        return node


def _fits(parts: list[yaml.Node]) -> bool:
    """Return whether a collection of these is innermost and short."""
    lengths = [len(part.value) + 4 for part in parts if isinstance(part, yaml.ScalarNode) or not part.value]
    return len(lengths) == len(parts) and sum(lengths) <= _MAX_LINE_CHARACTERS


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Represent text, in quotes if a recipe would read it as something else."""
    try:
        same = parse_scalar(text) == text
    except ValueError:
        same = False
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if same else '"')


_Dumper.add_representer(str, _represent_text)


def to_yaml(record: BaseModel) -> str:
    """Return a record as YAML, with every default, keys in the order of its fields."""
    data = record.model_dump(mode="json")
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
