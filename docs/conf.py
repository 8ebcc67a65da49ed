"""Sphinx configuration of the documentation site, which `doit docs` builds."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = PROJECT["name"]
extensions = ["myst_parser", "sphinx_external_toc", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["__pycache__", "examples"]
html_theme = "furo"
html_title = project
html_extra_path = [
    path.name for path in Path(__file__).parent.glob("*.png")
]  # of <picture>, which Sphinx does not read
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_missing"]  # links to files outside of docs/, which code hosts resolve
autodoc_member_order = "bysource"
autodoc_typehints = "description"
external_toc_path = "_toc.yml"
