"""Virtual connections: what the client writes becomes requests to the world, and the world's answers become bytes at their times.

`ServerEnd` speaks HTTP/1.1 on one connection. A `Receiver` is the client's end of it: `VirtualTransport` for the loop, `VirtualSocket` for threads.
"""

from __future__ import annotations

import asyncio
import collections
import errno
import http
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from reenact._errors import LivelockError
from reenact._events import WorldEvent
from reenact._requests import Request, RequestParser
from reenact._world import Answer

if TYPE_CHECKING:
    from reenact._loop import VirtualLoop

LOOPBACK = "127.0.0.1"
BODILESS_STATUSES = (204, 304)


class Receiver(Protocol):
    """The client's end of a connection."""

    is_on_loop: bool

    def receive(self, data: bytes) -> None:
        """Bytes have come."""

    def end(self) -> None:
        """The server has closed its side."""

    def reset(self, error: OSError) -> None:
        """The connection is broken."""


class Connections:
    """The connections of a run that are open."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.ends: dict[int, ServerEnd] = {}
        self.opened = 0

    def open(self, receiver: Receiver) -> ServerEnd:
        """A new connection."""
        self.opened += 1
        end = ServerEnd(self, self.opened, receiver)
        self.ends[self.opened] = end
        return end

    def answers_unfinished(self) -> list[int]:
        """The numbers of the answers that still come, or would, on open connections."""
        return [end.answer.number for end in self.ends.values() if end.answer is not None]

    def idle_count(self) -> int:
        """How many connections are open with no answer on the way, as in a client's pool."""
        return sum(1 for end in self.ends.values() if end.answer is None)


class ServerEnd:
    """The world's end of a connection."""

    def __init__(self, connections: Connections, number: int, receiver: Receiver) -> None:
        self.answer: Answer | None = None
        """The answer that is on the way, till its end was delivered. One that is silent for ever stays."""
        self._connections = connections
        self._loop = connections.loop
        self._number = number
        self._receiver = receiver
        self._parser = RequestParser()
        self._waiting: collections.deque[Request] = collections.deque()
        self._events: list[WorldEvent] = []
        self._keeps_alive = True

    def write(self, data: bytes) -> None:
        """Bytes of the client."""
        self._waiting.extend(self._parser.feed(data))
        if self._parser.needs_continue:
            self._receiver.receive(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self.answer is None:
            self._answer_next()

    def close(self) -> None:
        """The client closes the connection: what was not delivered never will be."""
        if self._connections.ends.pop(self._number, None) is None:
            return
        if self.answer is not None:
            for event in self._events:
                event.is_dropped = True
            self._loop.run.closed(self._loop.clock.us, self._loop.seen, self.answer.number)

    def _answer_next(self) -> None:
        if not self._waiting:
            return
        loop, request = self._loop, self._waiting.popleft()
        answer = loop.run.request(loop.clock.us, loop.seen, request.method, request.path, request.headers, request.body_for_line())
        if answer.number > loop.requests_max:
            # Not raised here: the agent could take it for an error of its connection.
            loop.fault = LivelockError(f"it has asked {loop.requests_max} times in one run, and asks again")
        self.answer = answer
        self._keeps_alive = request.keeps_alive
        self._events = []
        self._schedule(answer, request.method)
        for act in answer.acts:
            loop.schedule_act(act)

    def _schedule(self, answer: Answer, method: str) -> None:
        receive = self._receiver.receive
        source = self._loop.events.new_source()
        name = f"answer {answer.number}"
        is_chunked = has_body = True
        if answer.head is not None:
            names = {header.lower() for header, _ in answer.head.headers}
            has_body = method != "HEAD" and answer.head.status not in BODILESS_STATUSES
            is_chunked = has_body and "content-length" not in names
            head = write_head(answer.head.status, answer.head.headers, is_chunked)
            self._add(source, answer.head.at, f"{name} head", lambda: receive(head))
        for number, piece in enumerate(answer.pieces, start=1):
            data = b"%x\r\n%b\r\n" % (len(piece.data), piece.data) if is_chunked and piece.data else piece.data
            self._add(source, piece.at, f"{name} piece {number}", _receiving(receive, data if has_body else b""))
        if answer.end is not None:
            last = b"0\r\n\r\n" if is_chunked else b""
            how = answer.end.how
            self._add(source, answer.end.at, f"{name} end", lambda: self._end(how, last))

    def _add(self, source: int, at: int, name: str, deliver: Callable[[], None]) -> None:
        event = WorldEvent(at, name, deliver, self._receiver.is_on_loop)
        self._loop.events.add(source, len(self._events), event)
        self._events.append(event)

    def _end(self, how: str, last: bytes) -> None:
        self.answer = None
        if how == "complete":
            if last:
                self._receiver.receive(last)
            if not self._keeps_alive:
                self._receiver.end()
            else:
                self._answer_next()
        elif how == "close":
            self._receiver.end()
        else:
            self._receiver.reset(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))


class VirtualTransport(asyncio.Transport):
    """The loop's end of a virtual connection."""

    is_on_loop = True

    def __init__(self, loop: VirtualLoop, protocol: asyncio.BaseProtocol, host: object, port: object) -> None:
        from reenact._sockets import SocketHandle

        super().__init__({"socket": SocketHandle(self), "peername": (LOOPBACK, port), "sockname": (LOOPBACK, 50000), "host": host})
        self._loop = loop
        self._protocol: Any = protocol
        self._server_end = loop.connections.open(self)
        self._held: collections.deque[bytes | OSError | None] = collections.deque()
        """What has come while reading was paused: bytes, then None for the end, or an error."""
        self._is_paused = False
        self._is_closing = False
        self._has_ended = False

    # The receiver

    def receive(self, data: bytes) -> None:
        self._take(data)

    def end(self) -> None:
        self._take(None)

    def reset(self, error: OSError) -> None:
        self._take(error)

    def _take(self, part: bytes | OSError | None) -> None:
        if part == b"" or self._is_closing:
            return
        self._held.append(part)
        if not self._is_paused:
            self._hand_over()

    def _hand_over(self) -> None:
        """Gives the protocol what is held; bytes are joined, as a kernel would."""
        while self._held and not self._is_paused and not self._is_closing:
            part = self._held.popleft()
            if part is None:
                self._has_ended = True
                if not self._protocol.eof_received():
                    self.close()
            elif isinstance(part, OSError):
                self._has_ended = True
                self._force_close(part)
            else:
                if self._held and isinstance(self._held[0], bytes):
                    data = [part]
                    while self._held and isinstance(self._held[0], bytes):
                        data.append(self._held.popleft())  # type: ignore[arg-type]
                    part = b"".join(data)
                self._give(part)

    def _give(self, data: bytes) -> None:
        if not isinstance(self._protocol, asyncio.BufferedProtocol):
            self._protocol.data_received(data)
            return
        while data:
            buffer = memoryview(self._protocol.get_buffer(len(data)))
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            self._protocol.buffer_updated(count)
            data = data[count:]

    @property
    def is_readable(self) -> bool:
        """Whether a read would return at once: something is held, or the connection has ended."""
        return bool(self._held) or self._has_ended or self._is_closing

    # The transport

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            if self._held:
                self._loop.call_soon(self._hand_over)

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def write(self, data: Any) -> None:
        if not self._is_closing:
            self._server_end.write(bytes(data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def close(self) -> None:
        self._force_close(None)

    def abort(self) -> None:
        self._force_close(None)

    def _force_close(self, error: OSError | None) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self._held.clear()
        self._server_end.close()
        self._loop.call_soon(self._protocol.connection_lost, error)

    def is_closing(self) -> bool:
        return self._is_closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (0, 0)


def address_info(port: object) -> list[Any]:
    """What `getaddrinfo` gives for every host."""
    number = int(port) if isinstance(port, (int, str, bytes)) and str(port).isdigit() else 80
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (LOOPBACK, number))]


def write_head(status: int, headers: list[tuple[str, str]], is_chunked: bool) -> bytes:
    """The head of an answer as bytes."""
    try:
        reason = http.HTTPStatus(status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [f"HTTP/1.1 {status} {reason}"]
    lines += [f"{name}: {value}" for name, value in headers if name.lower() != "transfer-encoding"]
    if is_chunked:
        lines.append("transfer-encoding: chunked")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _receiving(receive: Callable[[bytes], None], data: bytes) -> Callable[[], None]:
    return lambda: receive(data)
