"""A process beside the server that ends it where a signal has not ended it in time.

A thread could not: it waits for the interpreter's lock, which code that hangs may hold.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

__all__ = ["ROOM", "end_within"]

ROOM = 5.0
"""Seconds beyond `grace` for what ends after the last request: threads, the cache, other files."""

_CODE = """
import os, select, signal, sys, time
server, seconds = int(sys.argv[1]), float(sys.argv[2])
ends = {signal.SIGINT, signal.SIGTERM}
for each in ends:  # which a terminal and a service manager send to all processes
    signal.signal(each, signal.SIG_IGN)
while numbers := os.read(0, 1024):  # of signals; nothing once the server has ended
    if ends & set(numbers):
        last = time.monotonic() + seconds
        while select.select([0], [], [], max(0.0, last - time.monotonic()))[0]:
            if not os.read(0, 1024):
                sys.exit()
        message = f"The server did not end within {seconds:g} s of a signal and is killed."
        print('{"level": "error", "message": "' + message + '"}', file=sys.stderr, flush=True)
        os.kill(server, signal.SIGKILL)
"""
_watchers: list[subprocess.Popen[bytes]] = []


def end_within(grace: float) -> None:
    """From now on, SIGINT and SIGTERM end this process `grace` seconds and ROOM later, if it has not ended.

    Windows has no such signals. The main thread calls it.
    """
    if not hasattr(signal, "SIGKILL"):
        return
    command = [sys.executable, "-I", "-S", "-c", _CODE, str(os.getpid()), str(grace + ROOM)]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert watcher.stdin is not None
    os.set_blocking(watcher.stdin.fileno(), False)
    signal.set_wakeup_fd(watcher.stdin.fileno(), warn_on_full_buffer=False)  # written to without the lock
    _watchers.append(watcher)
