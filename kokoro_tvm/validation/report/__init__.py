"""One page about a bundle, to be looked at and listened to: gates and values, pictures, sounds, how it was
built. The page is a single file that reads nothing else."""

from __future__ import annotations

from kokoro_tvm.validation.report.facts import BuiltStage, BundleFacts, SpokenUtterance
from kokoro_tvm.validation.report.page import write_page

__all__ = ["BuiltStage", "BundleFacts", "SpokenUtterance", "write_page"]
