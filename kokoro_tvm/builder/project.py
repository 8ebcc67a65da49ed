"""A folder of recipes and what is built of them: what people type becomes graphs and stages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.collection import Collected, collect
from kokoro_tvm.builder.engine.memory import Memory, keep_learned
from kokoro_tvm.builder.engine.parts import parts_of, parts_store
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.names import check_name
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.packages import require_build
from kokoro_tvm.common.words import hint
from kokoro_tvm.recipe import ArtifactSpec, is_try, list_models, list_recipes, read_recipe

__all__ = ["Project", "Selection"]


@dataclass(frozen=True)
class Selection:
    """What was meant: stages of a graph, with all that comes before them."""

    graph: RecipeGraph
    stages: Sequence[Stage]


@dataclass(frozen=True)
class Project:
    """root: the folder that holds recipes/ and artifacts/; paranoid: whether every file is read again; cache:
    where what is not there is looked for."""

    root: Path
    paranoid: bool = False
    cache: Cache | None = None

    @classmethod
    def open(cls, root: Path, paranoid: bool = False, cache: Cache | None = None) -> Project:
        """The project, with what builds have learned of code and tools, so that it need not be read again."""
        project = cls(root, paranoid, cache)
        path = project.store.root / "learned.json"
        if path.is_file():  # otherwise there was no build, and looking is to leave nothing behind
            keep_learned(Memory(path, trust=not paranoid))
        return project

    @cached_property
    def store(self) -> Store:
        """What was built."""
        return Store((self.root / "artifacts").resolve() / ".store", self.paranoid, self.cache)

    def recipes(self) -> list[str]:
        """Names of the recipes with a target. Raises RecipeError where there are none."""
        return list_recipes(self.root / "recipes")

    def graph(self, recipe: str, overrides: Sequence[str] = ()) -> RecipeGraph:
        """The stages of a recipe, with FIELD=VALUE over it where there are overrides.

        Raises RecipeError where it cannot be read, and BuildError where a package is missing that builds
        need: keys have its version.
        """
        require_build()
        recipes = self.root / "recipes"
        loaded = read_recipe(recipe, recipes, overrides)
        check_name(recipe, loaded.path)
        return RecipeGraph(loaded.recipe, self.store.root.parent, recipes.resolve().parent, self.store)

    def artifact(self, word: str, recipe: str = "cpu") -> tuple[RecipeGraph, ArtifactSpec]:
        """The artifact called `cpu/decoder-5120`, or `decoder-5120` of the recipe given.

        Raises RecipeError; LookupError where the recipe, not named by the word, has no such artifact.
        """
        owner, slash, artifact = word.rpartition("/")
        graph = self.graph(owner or recipe)
        specs = {spec.id: spec for spec in graph.recipe.artifacts()}
        if artifact not in specs and slash:
            advice = hint(artifact, list(specs))
            raise RecipeError(f"the recipe {graph.recipe.name} has no artifact `{artifact}`{advice}")
        return graph, specs[artifact]

    def find(self, word: str) -> Selection:
        """`cpu`: a recipe; `cpu/decoder-5120`, or `decoder-5120`: an artifact; anything else: a stage.

        Raises RecipeError saying what is there instead.
        """
        names = self.recipes()
        if word in names:
            graph = self.graph(word)
            stages = graph.stages()
            needed = {before.name for stage in stages for before in stage.after}
            return Selection(graph, tuple(stage for stage in stages if stage.name not in needed))
        owner, dot, _ = word.partition(".")
        if dot and "/" not in word:
            return self._stage(word, [owner] if owner in names else names)
        try:
            graph, spec = self.artifact(word)
        except LookupError:
            raise RecipeError(f"there is nothing called `{word}`{hint(word, names)}") from None
        return Selection(graph, (graph.validate(spec),))

    def worth_keeping(self, newest: int) -> set[str]:
        """Keys of the records that are current, of the `newest` of every stage there ever was but those of
        tries, and of the parts that these used."""
        recipes = self.root / "recipes"
        alive = {*list_recipes(recipes), *list_models([recipes])}
        keep: set[str] = set()
        for stage in self.store.stages():
            owner = stage.partition(".")[0]
            count = 0 if is_try(owner) else max(newest, 1) if owner in alive else newest
            for record in self.store.history(stage)[::-1][:count]:
                keep |= {record.key, *parts_of(self.store, record)}
        return keep

    def gc(self, keep: Collection[str], dry_run: bool = False) -> Collected:
        """Removes all records of stages and parts whose keys are not in `keep`, what only they hold, and the
        folders of tries."""
        return collect(self.store, keep, dry_run, self.tries()) + collect(
            parts_store(self.store), keep, dry_run
        )

    def tries(self) -> list[Path]:
        """Folders of recipes with overrides that were built: of bundles, and of what led to them."""
        artifacts = self.store.root.parent
        folders = [path for parent in (artifacts, artifacts / ".build") for path in parent.glob("*")]
        return sorted(path for path in folders if is_try(path.name) and path.is_dir())

    def audit(self) -> Iterator[tuple[Path, str]]:
        """Every record and object of stages and parts, and what is wrong with it ("" for nothing)."""
        yield from self.store.audit()
        yield from parts_store(self.store).audit()

    def repair(self, path: Path, copies: Sequence[Path]) -> str:
        """Repair a file that `audit` complains of, as `Store.repair` does."""
        stores = (parts_store(self.store), self.store)
        owner = next(store for store in stores if path.is_relative_to(store.root))
        return owner.repair(path, copies)

    def _stage(self, name: str, recipes: Sequence[str]) -> Selection:
        there: list[str] = []
        for recipe in recipes:
            try:
                graph = self.graph(recipe)
            except RecipeError:
                if len(recipes) == 1:
                    raise
                continue  # a stage that recipes share is found in another one
            stages = {stage.name: stage for stage in graph.stages()}
            if name in stages:
                return Selection(graph, (stages[name],))
            there += stages
        raise RecipeError(f"there is no stage called `{name}`{hint(name, there)}")
