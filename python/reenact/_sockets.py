"""Virtual sockets: for synchronous clients in threads, and as the handle that asyncio's clients find behind a transport."""

from __future__ import annotations

import io
import os
import socket
from _thread import get_ident
from typing import TYPE_CHECKING, Any

from reenact._errors import RefusedError
from reenact._http import LOOPBACK, VirtualTransport, address_info
from reenact._state import US_PER_S, state

if TYPE_CHECKING:
    from reenact._http import ServerEnd
    from reenact._loop import VirtualLoop

RealSocket = socket.socket
_DEFAULT_TIMEOUT: Any = socket._GLOBAL_DEFAULT_TIMEOUT  # type: ignore[attr-defined]


class _PollFiles:
    """Two real file descriptors, one never and one always readable: clients poll their idle sockets before they use them again."""

    def __init__(self) -> None:
        self._pid = 0
        self._pipes: list[int] = []

    def number(self, is_readable: bool) -> int:
        if self._pid != os.getpid():
            quiet, ready = os.pipe(), os.pipe()
            os.close(ready[1])  # its end can be read for ever
            self._pid, self._pipes = os.getpid(), [quiet[0], ready[0], quiet[1]]
        return self._pipes[1 if is_readable else 0]


_poll_files = _PollFiles()


class SocketHandle:
    """What `transport.get_extra_info("socket")` gives."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, transport: VirtualTransport) -> None:
        self._transport = transport

    def fileno(self) -> int:
        return _poll_files.number(self._transport.is_readable)

    def setsockopt(self, *args: object) -> None:
        pass

    def getsockopt(self, *args: object) -> int:
        return 0

    def getsockname(self) -> tuple[str, int]:
        return (LOOPBACK, 50000)

    def getpeername(self) -> tuple[str, int]:
        peer: tuple[str, int] = self._transport.get_extra_info("peername")
        return peer

    def gettimeout(self) -> float:
        return 0.0


class VirtualSocket(RealSocket):
    """A TCP socket whose other end is the world. Where it is asked for another kind of socket, it gives a real one, for the guard to judge."""

    is_on_loop = False

    def __new__(cls, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> Any:  # noqa: A002
        is_tcp = family in (-1, socket.AF_INET, socket.AF_INET6) and type in (-1, socket.SOCK_STREAM)
        if fileno is not None or not is_tcp or state.loop_of_caller() is None:
            return RealSocket(family, type, proto, fileno)
        return super().__new__(cls)

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:  # noqa: A002
        # The real socket's initialiser is not called: no file is opened.
        self._family = socket.AddressFamily(socket.AF_INET if family == -1 else family)
        self._timeout: float | None = None
        self._peer: tuple[str, int] | None = None
        self._server_end: ServerEnd | None = None
        self._buffer = bytearray()
        self._has_ended = False
        self._error: OSError | None = None
        self._is_closed = False
        self._files_open = 0

    # The receiver

    def receive(self, data: bytes) -> None:
        self._buffer += data

    def end(self) -> None:
        self._has_ended = True

    def reset(self, error: OSError) -> None:
        self._error = error

    # The socket

    @property
    def family(self) -> socket.AddressFamily:
        return self._family

    @property
    def type(self) -> socket.SocketKind:
        return socket.SOCK_STREAM

    def connect(self, address: Any) -> None:
        self._peer = (str(address[0]), int(address[1]))
        self._server_end = self._loop().connections.open(self)

    def connect_ex(self, address: Any) -> int:
        self.connect(address)
        return 0

    def send(self, data: Any, flags: int = 0) -> int:
        if self._is_closed or self._server_end is None:
            raise OSError(9, "Bad file descriptor")
        if self._error is not None:
            raise BrokenPipeError(32, "Broken pipe")
        self._loop()
        content = bytes(data)
        self._server_end.write(content)
        return len(content)

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.send(data, flags)

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        if self._is_closed:
            raise OSError(9, "Bad file descriptor")
        if not self._is_readable():
            self._wait()
        if self._buffer:
            data = bytes(self._buffer[:bufsize])
            if not flags & socket.MSG_PEEK:
                del self._buffer[:bufsize]
            return data
        if self._error is not None:
            raise self._error
        return b""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view), flags)
        view[: len(data)] = data
        return len(data)

    def _wait(self) -> None:
        loop = self._loop()
        if self._timeout == 0:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        deadline = None if self._timeout is None else loop.clock.us + round(self._timeout * US_PER_S)
        if not loop.threads.wait(self._is_readable, deadline):
            raise TimeoutError("timed out")

    def _is_readable(self) -> bool:
        return bool(self._buffer) or self._has_ended or self._error is not None or self._is_closed

    def _loop(self) -> VirtualLoop:
        loop = state.loop_of_caller()
        if loop is None:
            raise RefusedError(f"a virtual socket is used outside of its run (in thread {get_ident()}); make the client anew in each run")
        return loop

    def settimeout(self, value: float | None) -> None:
        self._timeout = value

    def gettimeout(self) -> float | None:
        return self._timeout

    def setblocking(self, flag: bool) -> None:
        self._timeout = None if flag else 0.0

    def getblocking(self) -> bool:
        return self._timeout != 0

    def setsockopt(self, *args: object) -> None:
        pass

    def getsockopt(self, *args: object) -> int:  # type: ignore[override]
        return 0

    def bind(self, address: object) -> None:
        pass

    def getsockname(self) -> tuple[str, int]:
        return (LOOPBACK, 50000)

    def getpeername(self) -> tuple[str, int]:
        if self._peer is None:
            raise OSError(107, "Transport endpoint is not connected")
        return self._peer

    def fileno(self) -> int:
        return -1 if self._is_closed else _poll_files.number(self._is_readable())

    def makefile(self, mode: str = "r", buffering: int | None = None, **options: Any) -> Any:
        """A file over the socket, as `socket.makefile` gives."""
        kind = "".join(letter for letter in mode if letter in "rw")
        raw = socket.SocketIO(self, kind)  # type: ignore[arg-type]
        self._files_open += 1
        if buffering == 0:
            return raw
        size = io.DEFAULT_BUFFER_SIZE if buffering in (None, -1) else int(buffering or 0)
        file: Any = io.BufferedReader(raw, size) if "r" in kind else io.BufferedWriter(raw, size)
        if kind == "rw":
            file = io.BufferedRWPair(raw, raw, size)
        return file if "b" in mode else io.TextIOWrapper(file, **options)

    def _decref_socketios(self) -> None:
        self._files_open -= 1
        if self._is_closed:
            self._close_now()

    def shutdown(self, how: int) -> None:
        if how != socket.SHUT_WR:
            self._close_now()

    def close(self) -> None:
        self._is_closed = True
        self._close_now()

    def detach(self) -> int:
        self.close()
        return -1

    def _close_now(self) -> None:
        if self._files_open <= 0 and self._server_end is not None:
            if state.loop is not None:
                self._server_end.close()
            self._server_end = None

    def __enter__(self) -> VirtualSocket:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


def create_connection(address: Any, timeout: Any = _DEFAULT_TIMEOUT, source_address: Any = None, **options: Any) -> Any:
    """Stands for `socket.create_connection`."""
    if state.loop_of_caller() is None:
        return real_create_connection(address, timeout, source_address, **options)
    virtual = VirtualSocket()
    if isinstance(timeout, (int, float)):
        virtual.settimeout(timeout)
    virtual.connect(address)
    return virtual


def getaddrinfo(host: Any, port: Any, *args: Any, **options: Any) -> list[Any]:
    """Stands for `socket.getaddrinfo`: every host exists."""
    if state.loop_of_caller() is None:
        return real_getaddrinfo(host, port, *args, **options)
    return address_info(port)


def gethostbyname(host: str) -> str:
    """Stands for `socket.gethostbyname`."""
    return real_gethostbyname(host) if state.loop_of_caller() is None else LOOPBACK


real_create_connection = socket.create_connection
real_getaddrinfo = socket.getaddrinfo
real_gethostbyname = socket.gethostbyname

REPLACEMENTS: list[tuple[object, object]] = [
    (RealSocket, VirtualSocket),
    (real_create_connection, create_connection),
    (real_getaddrinfo, getaddrinfo),
    (real_gethostbyname, gethostbyname),
]
