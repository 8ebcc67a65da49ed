"""The command `kokoro-tvm`: its commands, and errors as one paragraph and an exit status."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

import kokoro_tvm
from kokoro_tvm.common.errors import BuildError, KokoroTvmError, OutOfMemoryError
from kokoro_tvm.common.invocation import localize

__all__ = ["build_app", "main"]

# Names of commands in the order of --help, by the folder of their modules. `speak` is part of every
# installation, `develop` only of the source. A module has a function of its own name. The function imports
# torch, TVM, pydantic and the like when it is called, so that --help takes less than 0.3 s.
_SPEAK = (
    "say",
    "batch",
    "pull",
    "serve",
    "phonemize",
    "voices",
    "inspect",
)
_DEVELOP = (
    "recipe",
    "build",
    "package",
    "push",
    "release",
    "web",
    "status",
    "explain",
    "diff",
    "plan",
    "graph",
    "verify",
    "gc",
    "doctor",
    "validate",
    "bench",
    "profile",
    "probe",
)
COMMANDS = {**dict.fromkeys(_SPEAK, "speak"), **dict.fromkeys(_DEVELOP, "develop")}
_HAS_SOURCE = Path(__file__).with_name("develop").is_dir()
_SIGPIPE = 128 + 13  # the usual status of a program whose reader is gone
_GROUPS = ("voices", "recipe", "validate")  # their modules have `register(app: typer.Typer) -> None`


def build_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Build the command tree. Building only one command saves the 60 ms of importing all of them."""
    app = typer.Typer(
        name="kokoro-tvm",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,  # main() prints errors
        rich_markup_mode=None,  # plain help: importing rich costs more than everything else together
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in commands:
        module = import_module(f"kokoro_tvm.cli.{COMMANDS[name]}.{name}")
        if name in _GROUPS:
            module.register(app)
        else:
            app.command(name)(getattr(module, name))
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with 0, or print an error in red and exit with its status.

    `--debug` anywhere before `--` prints the traceback as well.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    debug = "--debug" in words[:end]
    words = [word for word in words[:end] if word != "--debug"] + words[end:]
    if isinstance(sys.stdout, io.TextIOWrapper):  # write characters that its encoding lacks as \u0259
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        build_app(_called(words))(words, prog_name="kokoro-tvm")
    except SystemExit as ending:  # click also raises it if the reader of standard output is gone
        if isinstance(ending.__context__, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discard the buffer at exit
            sys.exit(_SIGPIPE)
        raise
    except KokoroTvmError as error:
        _print_error(str(error), error, debug)
        sys.exit(error.exit_code)
    except MemoryError as error:
        problem = OutOfMemoryError.of("the command", str(error) or "its size is not known")
        _print_error(str(problem), error, debug)
        sys.exit(problem.exit_code)
    except ModuleNotFoundError as error:
        _print_error(_describe_missing(error), error, debug)
        sys.exit(BuildError.exit_code)
    except Exception as error:  # a fault of this program, or of the machine
        kind = "" if isinstance(error, OSError) else f"a fault in kokoro-tvm, {type(error).__name__}: "
        again = "" if debug else " (run again with --debug for the traceback)"
        _print_error(f"{kind}{error}{again}", error, debug)
        sys.exit(1)


def _called(words: Sequence[str]) -> Iterable[str]:
    """Return the one command that a command line calls, or every installed command if it calls none."""
    first = next((word for word in words if not word.startswith("-")), "")
    return (first,) if first in COMMANDS else COMMANDS if _HAS_SOURCE else _SPEAK


def _describe_missing(error: ModuleNotFoundError) -> str:
    from kokoro_tvm.common.packages import advice

    name = (error.name or "").partition(".")[0]
    if name == "kokoro_tvm":
        return (
            f"{error.name} is not installed: a bundle's wheel only speaks, and the other commands come with "
            "the source of kokoro-tvm. Install that."
        )
    return f"The package {name} is not installed, which this command needs. Run `{advice([name])}`."


def _print_error(message: str, error: Exception, debug: bool) -> None:
    if debug:
        traceback.print_exception(error)
    color = False if os.environ.get("NO_COLOR") else None
    typer.secho(localize(message), fg=typer.colors.RED, err=True, color=color)


def _show_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"kokoro-tvm {kokoro_tvm.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error as well. May be anywhere.")
    ] = False,
) -> None:
    """Compile Kokoro-82M through Apache TVM, validate it, and synthesize speech."""
    del version, debug  # handled by _show_version and by main()
