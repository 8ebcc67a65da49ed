"""Server of Wyoming, the protocol of Home Assistant: lines of JSON and audio over TCP."""

# The package `wyoming` is not used: its reader takes events of any size, and ends a connection without an
# error if it cannot read one.

from __future__ import annotations

import asyncio

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.budget import ByteBudget
from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.wyoming.connection import Connection
from kokoro_tvm.serving.wyoming.events import BLOCK, Event, encode

__all__ = ["WyomingServer", "check_port"]


def check_port(host: str, port: int) -> None:
    """Raise InputError if nothing can listen at a port."""

    async def listen() -> None:
        (await asyncio.start_server(lambda reader, writer: None, host, port)).close()

    try:
        asyncio.run(listen())
    except OSError as error:
        raise InputError(f"Wyoming cannot be served at port {port}: {error.strerror or error}.") from error


class WyomingServer:
    """Server of Wyoming, with the same queue as HTTP."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._budget = ByteBudget(service.settings.max_requests * service.settings.max_body_bytes)

    @property
    def port(self) -> int:
        """Port it listens at."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, host: str, port: int) -> None:
        """Listen at a port. Raises OSError if it is taken."""
        settings = self._service.settings
        shared = settings.workers > 1 or None  # every process listens
        self._server = await asyncio.start_server(
            self._start_client, host, port, limit=min(BLOCK, settings.max_body_bytes), reuse_port=shared
        )

    async def close(self) -> None:
        """Stop listening, and disconnect all clients."""
        if self._server is not None:
            self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _start_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client in a task that `close` can cancel."""
        client = asyncio.create_task(self._serve(reader, writer))
        self._clients.add(client)
        client.add_done_callback(self._clients.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client, or send an error if too many are connected."""
        limit = self._service.settings.max_sessions
        if len(self._clients) > limit:
            error = ApiError(429, f"{limit} clients are connected, which is the most.", code="busy")
            writer.write(encode(Event("error", {"text": error.detail, "code": error.code})))
            writer.close()
            return
        await Connection(self._service, reader, writer, self._budget).run()
