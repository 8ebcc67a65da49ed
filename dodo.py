"""The build. `doit` builds the default recipe, `doit NAME` another one, `doit list` shows every stage.

Everything a task needs to know is in recipes/; how stages depend on each other: kokoro_tvm/builder/graph.py.
"""

import sys
from contextlib import contextmanager
from pathlib import Path

from kokoro_tvm.common.errors import KokoroTvmError
from kokoro_tvm.common.invocation import localize
from kokoro_tvm.common.packages import ensure_build_packages

HERE = Path(__file__).parent


@contextmanager
def _in_words():
    """Print an error of the project without a traceback, and exit with its status."""
    try:
        yield
    except KokoroTvmError as error:
        sys.stderr.write(f"ERROR: {localize(str(error))}\n")
        sys.exit(error.exit_code)


with _in_words():
    ensure_build_packages()

from kokoro_tvm.builder.tasks import doit_config, recipe_tasks  # noqa: E402  (needs those packages)

DOIT_CONFIG = doit_config()


def task_recipes():
    with _in_words():
        yield from recipe_tasks(HERE, DOIT_CONFIG["reporter"])
