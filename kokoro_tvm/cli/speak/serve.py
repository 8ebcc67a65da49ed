"""kokoro-tvm serve: speech over HTTP."""

from __future__ import annotations

import typer

from kokoro_tvm.cli._output import is_quiet, is_verbose
from kokoro_tvm.cli._speech import without_blas_threads
from kokoro_tvm.common.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command. pydantic-settings parses its options: the server's settings are the only list."""
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command("serve", context_settings=passed_on)(_serve)


def _serve(context: typer.Context) -> None:
    """Serve speech over HTTP to clients of OpenAI's interface."""
    without_blas_threads()
    try:
        from kokoro_tvm.serving.settings import read_settings

        level = ["--log-level=warning"] if is_quiet() else ["--log-level=debug"] if is_verbose() else []
        settings = read_settings([*level, *context.args])

        from kokoro_tvm.serving.server import serve
    except ModuleNotFoundError as error:
        raise InputError(
            f"Serving needs {error.name}, which is not installed. Run `pip install 'kokoro-tvm[serve]'`."
        ) from error
    serve(settings)
