"""The command `kokoro-tvm`: its commands, and errors as one paragraph and an exit status."""

from __future__ import annotations

import io
import os
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import kokoro_tvm
from kokoro_tvm.cli import _output
from kokoro_tvm.common.errors import BuildError, KokoroTvmError, OutOfMemoryError
from kokoro_tvm.common.invocation import localize

# Names of commands by section of --help. A module has a function of its command's name. The function imports
# torch, TVM, pydantic and the like when it is called, so that --help takes less than 0.3 s.
_SECTIONS = {
    "Speak": ("say", "batch", "serve", "phonemize", "voices", "pull"),
    "Build": ("build", "plan", "doctor", "recipe", "gc"),
    "Inspect": ("status", "explain", "diff", "graph", "verify", "inspect"),
    "Publish": ("package", "push", "release", "web"),
    "Develop": ("validate", "bench", "profile", "probe"),
}
_SPEAK = (*_SECTIONS["Speak"], "inspect")  # modules of the folder `speak/`, which every installation has
COMMANDS = {name: "speak" if name in _SPEAK else "develop" for names in _SECTIONS.values() for name in names}
_HAS_SOURCE = Path(__file__).with_name("develop").is_dir()
_EXTRAS = {"serve": "serve", "push": "publish", "release": "publish"}  # `build` for the others of `develop/`
_MODULES = {"serve": "fastapi", "publish": "cyclonedx", "build": "tvm"}  # one of each extra
_SIGPIPE = 128 + 13  # the usual status of a program whose reader is gone
_COMPLETE = "_KOKORO_TVM_COMPLETE"  # environment variable by which a shell asks for completions
_ANYWHERE = ("--debug", "--quiet", "--verbose")
_GROUPS = ("voices", "recipe", "validate", "serve")  # their modules have `register(app: typer.Typer) -> None`


class _Root(TyperGroup):
    """The root command, whose help lists what is installed by section, and says how to get the rest."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        lacking = _find_lacking()
        width = max(map(len, COMMANDS))
        for title, names in _SECTIONS.items():
            listed = [name for name in names if name in self.commands and name not in lacking]
            if listed:
                with formatter.section(title):
                    helps = (self.commands[n].get_short_help_str(formatter.width - width - 6) for n in listed)
                    formatter.write_dl(
                        [(f"{n:<{width}}", text) for n, text in zip(listed, helps, strict=True)]
                    )
        for source in dict.fromkeys(lacking.values()):
            commands = ", ".join(name for name, other in lacking.items() if other == source)
            formatter.write_paragraph()
            formatter.write_text(f"{source} adds {commands}.")


def _find_lacking() -> dict[str, str]:
    """Return what would add each command whose packages are not installed."""
    lacking = {}
    for name, folder in COMMANDS.items():
        extra = _EXTRAS.get(name) or ("build" if folder == "develop" else "")
        if folder == "develop" and not _HAS_SOURCE:
            lacking[name] = "The source of kokoro-tvm"
        elif extra and find_spec(_MODULES[extra]) is None:
            lacking[name] = f"`pip install 'kokoro-tvm[{extra}]'`"
    return lacking


def build_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Build the command tree. Building only one command saves the 60 ms of importing all of them."""
    app = typer.Typer(
        name="kokoro-tvm",
        no_args_is_help=True,
        cls=_Root,
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
    """Run the command line and exit, with 0 or with the status of an error, which is printed in red.

    `--debug`, `--quiet` and `--verbose` may be anywhere before `--`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    debug = "--debug" in words[:end]
    _output.set_verbosity(quiet="--quiet" in words[:end], verbose="--verbose" in words[:end])
    words = [word for word in words[:end] if word not in _ANYWHERE] + words[end:]
    began = time.perf_counter()
    if isinstance(sys.stdout, io.TextIOWrapper):  # write characters that its encoding lacks as \u0259
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        build_app(_find_command(words))(words, prog_name="kokoro-tvm", complete_var=_COMPLETE)
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
    finally:
        _output.detail(f"kokoro-tvm took {time.perf_counter() - began:.2f} s")


def _find_command(words: Sequence[str]) -> Iterable[str]:
    """Return the one command that a command line calls, or every installed command if it calls none."""
    first = next((word for word in words if not word.startswith("-")), "")
    return (first,) if first in COMMANDS else COMMANDS if _HAS_SOURCE else _SPEAK


def _describe_missing(error: ModuleNotFoundError) -> str:
    """Return the message about a package that is not installed, with the command that installs it."""
    from kokoro_tvm.common.packages import advice

    name = (error.name or "").partition(".")[0]
    if name == "kokoro_tvm":
        return (
            f"{error.name} is not installed: a bundle's wheel only speaks, and the other commands come with "
            "the source of kokoro-tvm. Install that."
        )
    return f"The package {name} is not installed, which this command needs. Run `{advice([name])}`."


def _print_error(message: str, error: Exception, debug: bool) -> None:
    """Print a message in red on standard error, after the traceback if `debug` is set."""
    if debug:
        traceback.print_exception(error)
    color = False if os.environ.get("NO_COLOR") else None
    typer.secho(localize(message), fg=typer.colors.RED, err=True, color=color)


def _show_version(is_set: bool) -> None:
    """Print the version and end the command if the option is set."""
    if is_set:
        typer.echo(f"kokoro-tvm {kokoro_tvm.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print results and errors only. May be anywhere.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print details, too. May be anywhere.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error as well. May be anywhere.")
    ] = False,
) -> None:
    """Compile Kokoro-82M through Apache TVM, validate it, and synthesize speech."""
    del version, quiet, verbose, debug  # handled by _show_version and by main()
