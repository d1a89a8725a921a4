"""The methods of a loop that cannot be made virtual: each says by name what to do instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

from reenact._errors import RefusedError

USE_DRIVE = "use `reenact drive` for agents that start processes"
USE_HTTP = "inside a run the only server is the simulated API; use `reenact drive` for agents that talk to others"


def refuse(call: str, advice: str) -> NoReturn:
    """Raises the error for a call."""
    raise RefusedError(f"{call} cannot be made virtual; {advice}")


class RefusedMethods(asyncio.AbstractEventLoop):
    """Overrides for the loop: processes, servers, and sockets that are not virtual."""

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        refuse(f"a subprocess ({args[1] if len(args) > 1 else ''!r})", USE_DRIVE)

    async def subprocess_shell(self, *args: Any, **options: Any) -> Any:
        refuse(f"a subprocess ({args[1] if len(args) > 1 else ''!r})", USE_DRIVE)

    async def create_server(self, *args: Any, **options: Any) -> Any:
        refuse("loop.create_server", USE_HTTP)

    async def create_unix_connection(self, *args: Any, **options: Any) -> Any:
        refuse("loop.create_unix_connection", USE_HTTP)

    async def create_unix_server(self, *args: Any, **options: Any) -> Any:
        refuse("loop.create_unix_server", USE_HTTP)

    async def create_datagram_endpoint(self, *args: Any, **options: Any) -> Any:
        refuse("loop.create_datagram_endpoint", USE_HTTP)

    async def start_tls(self, *args: Any, **options: Any) -> Any:
        refuse("TLS", "give the client a base URL that starts with http://")

    async def connect_read_pipe(self, *args: Any, **options: Any) -> Any:
        refuse("loop.connect_read_pipe", USE_DRIVE)

    async def connect_write_pipe(self, *args: Any, **options: Any) -> Any:
        refuse("loop.connect_write_pipe", USE_DRIVE)

    async def sock_recv(self, *args: Any, **options: Any) -> Any:
        refuse("loop.sock_recv", USE_HTTP)

    async def sock_sendall(self, *args: Any, **options: Any) -> Any:
        refuse("loop.sock_sendall", USE_HTTP)

    async def sock_accept(self, *args: Any, **options: Any) -> Any:
        refuse("loop.sock_accept", USE_HTTP)

    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        refuse("loop.add_reader", USE_HTTP)

    def add_writer(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        refuse("loop.add_writer", USE_HTTP)

    def remove_reader(self, fd: Any) -> bool:
        return False

    def remove_writer(self, fd: Any) -> bool:
        return False

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:  # type: ignore[override]
        """Accepted: no signal comes in virtual time; a cancel of the user is delivered otherwise."""

    def remove_signal_handler(self, sig: int) -> bool:
        return True
