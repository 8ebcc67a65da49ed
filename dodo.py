"""The build. `doit` builds the default recipe, `doit NAME` another one, `doit list` shows every stage.

Everything a task needs to know is in recipes/; how stages depend on each other: kokoro_tvm/project/graph.py.
"""

from pathlib import Path

from kokoro_tvm.project.tasks import doit_config, recipe_tasks

HERE = Path(__file__).parent
DOIT_CONFIG = doit_config()


def task_recipes():
    yield from recipe_tasks(HERE / "recipes", HERE / "artifacts", DOIT_CONFIG["reporter"])
