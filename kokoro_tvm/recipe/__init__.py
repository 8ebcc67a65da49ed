"""Recipes: YAML files read into frozen specs; an error has its place and what to write instead."""

from __future__ import annotations

from kokoro_tvm.recipe.checkpoint import Checkpoint, FileSource, NpmSource, SyntheticSource
from kokoro_tvm.recipe.files import ModelFile, TargetFile
from kokoro_tvm.recipe.gates import Gates
from kokoro_tvm.recipe.index import RecipeIndex, list_models, list_recipes, recipe_files
from kokoro_tvm.recipe.load import LoadedRecipe, check_file, load_built, load_recipe, read_recipe
from kokoro_tvm.recipe.origin import list_origins
from kokoro_tvm.recipe.overrides import is_try, write_try
from kokoro_tvm.recipe.parts import PassContext, UtteranceSpec
from kokoro_tvm.recipe.resolved import ArtifactSpec, Recipe
from kokoro_tvm.recipe.schedule import LayerChoice, Schedule, choose_layers
from kokoro_tvm.recipe.schema import build_schema
from kokoro_tvm.recipe.show import to_yaml

__all__ = [
    "ArtifactSpec",
    "Checkpoint",
    "FileSource",
    "Gates",
    "LayerChoice",
    "LoadedRecipe",
    "ModelFile",
    "NpmSource",
    "PassContext",
    "Recipe",
    "RecipeIndex",
    "Schedule",
    "SyntheticSource",
    "TargetFile",
    "UtteranceSpec",
    "build_schema",
    "check_file",
    "choose_layers",
    "is_try",
    "list_models",
    "list_origins",
    "list_recipes",
    "load_built",
    "load_recipe",
    "read_recipe",
    "recipe_files",
    "to_yaml",
    "write_try",
]
