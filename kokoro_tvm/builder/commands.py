"""doit's commands, adapted to this project; `[tool.doit.plugins.command]` of pyproject.toml names each.

The records of the store decide whether a stage is up to date, and doit's database is empty. So commands that
only change that database are refused, and the message names the command to use.
"""

from __future__ import annotations

import os
import sys
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

from doit.cmd_base import Command, check_tasks_exist
from doit.cmd_clean import Clean as DoitClean
from doit.cmd_info import Info as DoitInfo
from doit.cmd_run import Run as DoitRun
from doit.exceptions import InvalidCommand

from kokoro_tvm.builder.tasks import no_such_task
from kokoro_tvm.common.invocation import localize


class _RefusedCommand(Command):
    """Command of doit that has no effect here. reason: why, and the command to use."""

    reason: ClassVar[str]

    def parse_execute(self, in_args: Any) -> Any:
        """Raise InvalidCommand with the reason."""
        raise InvalidCommand(localize(f"{self.get_name()}: {self.reason}"))


class Forget(_RefusedCommand):
    """doit forget."""

    doc_purpose = "refused: `kokoro-tvm build --force STAGE` runs a stage again"
    reason = (
        "doit's database is empty, stages are current by the records of artifacts/.store. "
        "To run a stage again: `kokoro-tvm build --force STAGE`"
    )


class Ignore(_RefusedCommand):
    """doit ignore."""

    doc_purpose = "refused: `doit STAGE ...` builds stages without others"
    reason = (
        "a bundle needs every stage of its recipe. To build some stages without the others, name them: "
        "`doit STAGE ...`"
    )


class DumpDB(_RefusedCommand):
    """doit dumpdb."""

    doc_purpose = "refused: `kokoro-tvm status` shows the state of every stage"
    reason = (
        "doit's database is empty, the records are JSON files in artifacts/.store/records. "
        "To see the state of every stage: `kokoro-tvm status`"
    )


class ResetDep(_RefusedCommand):
    """doit reset-dep."""

    name = "reset-dep"
    doc_purpose = "refused: `kokoro-tvm status` shows the state of every stage"
    reason = (
        "no state of file dependencies is saved, stages are current by the content of their inputs. "
        "To see the state of every stage: `kokoro-tvm status`"
    )


class Strace(_RefusedCommand):
    """doit strace."""

    doc_purpose = "refused: `kokoro-tvm explain STAGE` shows what a stage depends on"
    reason = (
        "strace would not follow a stage into its worker process, which records itself what it reads. "
        "To see what it depends on: `kokoro-tvm explain STAGE`"
    )


class Run(DoitRun):
    """doit run: refuses options that have no effect, and accepts any spelling of a file's path."""

    def execute(self, params: Any, args: list[str]) -> Any:
        """Run tasks, or the tasks that write files.

        Raises:
            InvalidCommand: For `-P`, `-r` and `-o`, and as doit does.
        """
        for option, message in _FIXED_OPTIONS.items():
            if option in params._non_default_keys:  # from the command line
                raise InvalidCommand(localize(message))
        paths = [os.path.normpath(Path.cwd() / arg) if "/" in arg else arg for arg in args]
        return super().execute(params, paths)

    @wraps(DoitRun._execute)  # doit passes what the signature names
    def _execute(self, **params: Any) -> Any:
        reporter = params["reporter"]
        reporter.always, reporter.workers = params["always"], params["num_process"]
        try:
            return reporter.exit_status(super()._execute(**params))
        except InvalidCommand as error:
            if error.not_found is None:
                raise
            problem = no_such_task(error.not_found, [task.name for task in self.task_list])
            sys.stderr.write(localize(f"ERROR: {problem}\n"))
            return problem.exit_code


# Stages report to one reporter in the process that builds.
_FIXED_OPTIONS = {
    "par_type": "-P: stages run in processes of their own, which threads of doit wait for; leave -P out",
    "reporter": "-r: for a log that programs read, use `kokoro-tvm build --events FILE`",
    "outfile": "-o: for a file of what is printed, use `doit > FILE`",
}


class Info(DoitInfo):
    """doit info: what a task is, and the command that explains why it would run."""

    def _execute(self, pos_args: list[str], hide_status: bool = False) -> Any:
        """Print what a task is. Raises InvalidCommand for an unknown task."""
        check_tasks_exist({task.name: task for task in self.task_list}, pos_args)
        return super()._execute(pos_args, hide_status)

    @staticmethod
    def get_reasons(reasons: Any) -> str:
        """Return the command that has the reasons: doit would print the functions that it calls."""
        return localize(" * `kokoro-tvm explain TASK` says why.")


class Clean(DoitClean):
    """doit clean: removes the outputs of tasks; the store keeps their content."""

    def _execute(
        self, dryrun: bool, cleandep: bool, cleanall: bool, cleanforget: bool, pos_args: Any = None
    ) -> None:
        """Remove outputs, then say that the store keeps them. Raises InvalidCommand for `--forget`."""
        if cleanforget:
            raise InvalidCommand(localize(f"--forget: {Forget.reason}"))
        super()._execute(dryrun, cleandep, cleanall, cleanforget, pos_args)
        if not dryrun:
            self.outstream.write(localize("The store keeps what was removed; `doit` restores it.\n"))
