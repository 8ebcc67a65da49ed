"""The page about a bundle: gates and values, pictures, audio, and its build, in a single HTML file."""

from __future__ import annotations

from kokoro_tvm.validation.report.facts import BuiltStage, BundleFacts, SpokenUtterance
from kokoro_tvm.validation.report.page import write_page

__all__ = ["BuiltStage", "BundleFacts", "SpokenUtterance", "write_page"]
