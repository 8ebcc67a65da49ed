"""Recipes: YAML with positions, read into frozen specs; every error says where and what to write instead."""

from __future__ import annotations

from kokoro_tvm.recipe._source import LocatedRecipeError
from kokoro_tvm.recipe.checkpoint import (
    Checkpoint,
    FileSource,
    HuggingFaceSource,
    NpmPackage,
    NpmShards,
    NpmSource,
    NpmVoices,
    PinnedFile,
    PinnedVoices,
    PinnedWeights,
    Source,
    SyntheticSource,
)
from kokoro_tvm.recipe.files import ModelFile, TargetFile
from kokoro_tvm.recipe.folder import find, find_recipe, list_models, list_recipes, recipe_files
from kokoro_tvm.recipe.front_end import FrontEnd
from kokoro_tvm.recipe.gates import (
    AudioGate,
    CorpusGate,
    Gates,
    IntelligibilityGate,
    PhonemesGate,
    SignalGate,
)
from kokoro_tvm.recipe.known import Known
from kokoro_tvm.recipe.load import Loaded, check_file, load_built, load_recipe, read_recipe
from kokoro_tvm.recipe.origin import Origin, origins
from kokoro_tvm.recipe.overrides import is_try, write_try
from kokoro_tvm.recipe.parts import (
    MAX_FRAMES,
    MAX_TOKENS,
    Buckets,
    Component,
    Length,
    PassContext,
    Precision,
    Target,
    Utterance,
)
from kokoro_tvm.recipe.resolved import ArtifactSpec, Recipe
from kokoro_tvm.recipe.schedule import LayerChoice, Schedule, choices, schedule_path, write_schedule
from kokoro_tvm.recipe.schema import json_schema
from kokoro_tvm.recipe.show import to_yaml

__all__ = [
    "MAX_FRAMES",
    "MAX_TOKENS",
    "ArtifactSpec",
    "AudioGate",
    "Buckets",
    "Checkpoint",
    "Component",
    "CorpusGate",
    "FileSource",
    "FrontEnd",
    "Gates",
    "HuggingFaceSource",
    "IntelligibilityGate",
    "Known",
    "LayerChoice",
    "Length",
    "Loaded",
    "LocatedRecipeError",
    "ModelFile",
    "NpmPackage",
    "NpmShards",
    "NpmSource",
    "NpmVoices",
    "Origin",
    "PassContext",
    "PhonemesGate",
    "PinnedFile",
    "PinnedVoices",
    "PinnedWeights",
    "Precision",
    "Recipe",
    "Schedule",
    "SignalGate",
    "Source",
    "SyntheticSource",
    "Target",
    "TargetFile",
    "Utterance",
    "check_file",
    "choices",
    "find",
    "find_recipe",
    "is_try",
    "json_schema",
    "list_models",
    "list_recipes",
    "load_built",
    "load_recipe",
    "origins",
    "read_recipe",
    "recipe_files",
    "schedule_path",
    "to_yaml",
    "write_schedule",
    "write_try",
]
