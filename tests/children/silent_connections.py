"""Opens connections that say nothing: a port, and how many. Says when all are open, and when all are shut."""

import resource
import socket
import sys


def main(port: int, count: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    silent = [socket.create_connection(("127.0.0.1", port), timeout=300) for _ in range(count)]
    print(f"{len(silent)} open", flush=True)
    closed = sum(connection.recv(1) == b"" for connection in silent)
    print(f"{closed} closed without a word", flush=True)


main(*map(int, sys.argv[1:]))
