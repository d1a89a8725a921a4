"""A parser for the HTTP/1.1 requests that a client writes: bodies with a length or in chunks, several requests on one connection."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from reenact._errors import RefusedError

HEAD_BYTES_MAX = 1 << 20


@dataclass(slots=True)
class Request:
    """One whole request."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    keeps_alive: bool

    def body_for_line(self) -> str | dict[str, str]:
        """The body as a line for the world has it: a text, or base64 where it is no UTF-8."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(self.body).decode()}


class RequestParser:
    """Takes bytes in any portions and gives whole requests."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: tuple[str, str, list[tuple[str, str]]] | None = None
        self._body = bytearray()
        self._length: int | None = 0
        """What is missing of the body; None where it comes in chunks."""
        self._keeps_alive = True

    def feed(self, data: bytes) -> list[Request]:
        """The requests that these bytes complete."""
        self._buffer += data
        requests: list[Request] = []
        while True:
            if self._head is None and not self._take_head():
                return requests
            if not self._take_body():
                return requests
            assert self._head is not None
            requests.append(Request(*self._head, bytes(self._body), self._keeps_alive))
            self._head = None
            self._body.clear()

    @property
    def needs_continue(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends the body."""
        if self._head is None or self._body or self._buffer:
            return False
        return any(name.lower() == "expect" and value.lower() == "100-continue" for name, value in self._head[2])

    def _take_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if self._buffer[:2] == b"\x16\x03":
                raise RefusedError("TLS cannot be made virtual; give the client a base URL that starts with http://")
            if len(self._buffer) > HEAD_BYTES_MAX:
                raise RefusedError("the client wrote something that is no HTTP/1.1 request; use a client that speaks HTTP/1.1")
            return False
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise RefusedError(f"the client wrote {first[:60]!r}, which is no HTTP/1.1 request; use a client that speaks HTTP/1.1")
        headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        by_name = {name.lower(): value for name, value in headers}
        self._head = (words[0], words[1], headers)
        self._keeps_alive = by_name.get("connection", "").lower() != "close"
        is_chunked = "chunked" in by_name.get("transfer-encoding", "").lower()
        self._length = None if is_chunked else int(by_name.get("content-length", "0"))
        return True

    def _take_body(self) -> bool:
        if self._length is None:
            return self._take_chunks()
        if len(self._buffer) < self._length:
            return False
        self._body += self._buffer[: self._length]
        del self._buffer[: self._length]
        return True

    def _take_chunks(self) -> bool:
        while True:
            end = self._buffer.find(b"\r\n")
            if end < 0:
                return False
            size = int(self._buffer[:end].split(b";")[0], 16)
            if len(self._buffer) < end + 2 + size + 2:
                return False
            self._body += self._buffer[end + 2 : end + 2 + size]
            del self._buffer[: end + 2 + size + 2]
            if size == 0:
                return True
