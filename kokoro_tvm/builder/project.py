"""Folder of recipes and artifacts: turns words of a command line into graphs and stages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.collection import Collected, collect
from kokoro_tvm.builder.engine.memory import Memory, use_memory
from kokoro_tvm.builder.engine.parts import parts_store, read_part_keys
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.names import check_name
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.packages import ensure_build_packages
from kokoro_tvm.common.words import hint
from kokoro_tvm.recipe import ArtifactSpec, is_try, list_models, list_recipes, read_recipe


@dataclass(frozen=True)
class Selection:
    """Stages that a word of a command line means, and their graph."""

    graph: RecipeGraph
    stages: Sequence[Stage]


@dataclass(frozen=True)
class Project:
    """Folder of recipes/ and artifacts/.

    Attributes:
        root: The folder.
        paranoid: Whether every file is read again.
        cache: Shared cache.
        snapshot: Whether the record of each stage is read only once.
    """

    root: Path
    paranoid: bool = False
    cache: Cache | None = None
    snapshot: bool = False

    @classmethod
    def open(cls, root: Path, paranoid: bool = False, cache: Cache | None = None) -> Project:
        """Open a project to look at, with the facts about code and tools that earlier builds cached.

        Facts that are learned meanwhile are saved at exit.
        """
        project = cls(root, paranoid, cache, snapshot=True)
        path = project.store.root / "learned.json"
        if path.is_file():  # otherwise there was no build, and reading leaves no file behind
            use_memory(Memory(path, trust=not paranoid))
        return project

    @cached_property
    def store(self) -> Store:
        """Store of the outputs."""
        return Store((self.root / "artifacts").resolve() / ".store", self.paranoid, self.cache, self.snapshot)

    def recipes(self) -> list[str]:
        """Return the names of the recipes with a target. Raises RecipeError if there are none."""
        return list_recipes(self.root / "recipes")

    def graph(self, recipe: str, overrides: Sequence[str] = ()) -> RecipeGraph:
        """Return the stages of a recipe. overrides: FIELD=VALUE.

        Raises:
            RecipeError: The recipe cannot be read.
            BuildError: A package is missing that builds need (see `ensure_build_packages`).
        """
        ensure_build_packages()  # keys contain versions of packages
        recipes = self.root / "recipes"
        loaded = read_recipe(recipe, recipes, overrides)
        check_name(recipe, loaded.path)
        return RecipeGraph(loaded.recipe, self.store.root.parent, recipes.resolve().parent, self.store)

    def artifact(self, word: str, recipe: str = "cpu") -> tuple[RecipeGraph, ArtifactSpec]:
        """Return an artifact and its graph.

        Args:
            word: `cpu/decoder-5120` or `decoder-5120`.
            recipe: Recipe of an artifact that is named without one.

        Raises:
            RecipeError: The recipe cannot be read, or the recipe in the word has no such artifact.
            LookupError: The word names no recipe, and `recipe` has no such artifact.
        """
        owner, slash, artifact = word.rpartition("/")
        graph = self.graph(owner or recipe)
        specs = {spec.id: spec for spec in graph.recipe.artifacts()}
        if artifact not in specs and slash:
            advice = hint(artifact, list(specs))
            raise RecipeError(f"the recipe {graph.recipe.name} has no artifact `{artifact}`{advice}")
        return graph, specs[artifact]

    def find(self, word: str) -> Selection:
        """Return the stages that a word means: a recipe, an artifact or a stage.

        Raises:
            RecipeError: There is nothing of that name; suggests the nearest one.
        """
        names = self.recipes()
        if word in names:
            graph = self.graph(word)
            stages = graph.stages()
            needed = {before.name for stage in stages for before in stage.after}
            return Selection(graph, tuple(stage for stage in stages if stage.name not in needed))
        owner, dot, _ = word.partition(".")
        if dot and "/" not in word:
            return self._find_stage(word, [owner] if owner in names else names)
        try:
            graph, spec = self.artifact(word)
        except LookupError:
            raise RecipeError(f"there is nothing called `{word}`{hint(word, names)}") from None
        return Selection(graph, (graph.validate(spec),))

    def list_kept_keys(self, newest: int) -> set[str]:
        """Return the keys of the records that garbage collection keeps, and of their parts.

        newest: how many records of each stage to keep; the current ones of existing recipes stay anyway, and
        tries have none.
        """
        recipes = self.root / "recipes"
        alive = {*list_recipes(recipes), *list_models([recipes])}
        keep: set[str] = set()
        for stage in self.store.stages():
            owner = stage.partition(".")[0]
            count = 0 if is_try(owner) else max(newest, 1) if owner in alive else newest
            for record in self.store.history(stage)[::-1][:count]:
                keep |= {record.key, *read_part_keys(self.store, record)}
        return keep

    def gc(self, keep: Collection[str], dry_run: bool = False) -> Collected:
        """Remove records of stages and parts whose keys are not in `keep`, their objects, and tries."""
        return collect(self.store, keep, dry_run, self.tries()) + collect(
            parts_store(self.store), keep, dry_run
        )

    def tries(self) -> list[Path]:
        """Return the folders of bundles and stages of recipes that were built with overrides."""
        artifacts = self.store.root.parent
        folders = [path for parent in (artifacts, artifacts / ".build") for path in parent.glob("*")]
        return sorted(path for path in folders if is_try(path.name) and path.is_dir())

    def audit(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of every record and object, and what is wrong with it ("" for nothing)."""
        yield from self.store.audit()
        yield from parts_store(self.store).audit()

    def repair(self, path: Path, copies: Sequence[Path]) -> str:
        """Repair a damaged file that `audit` reported, as `Store.repair` does."""
        stores = (parts_store(self.store), self.store)
        owner = next(store for store in stores if path.is_relative_to(store.root))
        return owner.repair(path, copies)

    def _find_stage(self, name: str, recipes: Sequence[str]) -> Selection:
        """Return the stage of a name, in the first of the recipes that has it.

        Raises RecipeError if none has it.
        """
        names: list[str] = []
        for recipe in recipes:
            try:
                graph = self.graph(recipe)
            except RecipeError:
                if len(recipes) == 1:
                    raise
                continue  # another recipe may share the stage
            stages = {stage.name: stage for stage in graph.stages()}
            if name in stages:
                return Selection(graph, (stages[name],))
            names += stages
        raise RecipeError(f"there is no stage called `{name}`{hint(name, names)}")
