"""Virtual connections, at the level of bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from conftest import Runner
from reenact import RefusedError
from reenact._loop import VirtualLoop
from reenact._requests import RequestParser

BODY = json.dumps({"messages": [{"role": "user", "content": "x"}], "stream": True}).encode()


def _request(body: bytes = BODY, *, more: str = "") -> bytes:
    return f"POST /v1/messages HTTP/1.1\r\nHost: x\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_requests_are_parsed_in_any_portions() -> None:
    chunked = b"POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    data = _request(b"hello") + chunked + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
    for size in (1, 7, len(data)):
        parser = RequestParser()
        found = [request for start in range(0, len(data), size) for request in parser.feed(data[start : start + size])]
        assert [(each.method, each.path, each.body, each.keeps_alive) for each in found] == [
            ("POST", "/v1/messages", b"hello", True),
            ("POST", "/b", b"abcde", True),
            ("GET", "/", b"", False),
        ]


def test_what_is_no_http_is_refused() -> None:
    with pytest.raises(RefusedError, match="TLS"):
        RequestParser().feed(b"\x16\x03\x01\x02")
    with pytest.raises(RefusedError, match="no HTTP/1"):
        RequestParser().feed(b"PRI * HTTP/2.0\r\n\r\n")


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    data = b""
    while not data.endswith(b"\r\n0\r\n\r\n"):
        part = await reader.read(65536)
        if not part:
            break
        data += part
    return data


def test_two_requests_on_one_connection(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> list[Any]:
        reader, writer = await asyncio.open_connection("api.example", 80)
        found: list[Any] = []
        for _ in range(2):
            writer.write(_request())
            found.append((len(await _read_all(reader)), loop.now_us, loop.connections.opened))
        writer.close()
        await writer.wait_closed()
        return found

    outcome = runner.run(main)
    assert outcome.exception is None
    first, second = outcome.value
    assert first[1:] == (640_000, 1)
    assert second[1:] == (1_280_000, 1)
    assert outcome.seen == 40
    assert not [line for line in runner.transcript if '"closed"' in line]


def test_connection_close_ends_the_connection(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> bytes:
        reader, writer = await asyncio.open_connection("api.example", 80)
        writer.write(_request(more="Connection: close\r\n"))
        data = await reader.read()
        writer.close()
        return data

    assert runner.run(main).value.endswith(b"0\r\n\r\n")


def test_a_client_that_closes_early_is_noted_and_gets_no_more(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> int:
        reader, writer = await asyncio.open_connection("api.example", 80)
        writer.write(_request())
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.03)
        writer.close()
        await asyncio.sleep(10)
        return loop.seen

    outcome = runner.run(main)
    assert outcome.value == 3  # the head and two pieces
    closed = [json.loads(line) for line in runner.transcript if '"closed"' in line]
    assert closed == [{"op": "closed", "at": 330_000, "seen": 3, "answer": 1}]


def test_held_parts_come_joined_when_reading_goes_on(runner: Runner) -> None:
    class Reader(asyncio.Protocol):
        def __init__(self) -> None:
            self.parts: list[bytes] = []

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport: Any = transport

        def data_received(self, data: bytes) -> None:
            self.parts.append(data)

    async def main(loop: VirtualLoop) -> list[int]:
        transport, reader = await loop.create_connection(Reader, "api.example", 80)
        transport.pause_reading()
        transport.write(_request())
        await asyncio.sleep(1)
        counts = [len(reader.parts), loop.seen]
        transport.resume_reading()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        counts += [len(reader.parts), reader.parts[0].count(b"event: ")]
        transport.close()
        return counts

    assert runner.run(main).value == [0, 20, 1, 18]


def test_a_reset_and_an_end_are_different(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> str:
        reader, writer = await asyncio.open_connection("api.example", 80)
        writer.write(_request())
        try:
            await reader.read()
        except ConnectionResetError:
            return "reset"
        finally:
            writer.close()
        return "end"

    assert runner.run(main, "two_tools.reset").value == "reset"
    assert runner.run(main, "two_tools.close").value == "end"
    assert runner.run(main, "two_tools.refused").value == "reset"


def test_silence_is_a_deadlock_of_a_client_without_a_timeout(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> None:
        reader, writer = await asyncio.open_connection("api.example", 80)
        writer.write(_request())
        await reader.read()

    outcome = runner.run(main, "two_tools.stall")
    assert "still waits" in str(outcome.exception)
    assert outcome.open_connections == ["answer 1"]


def test_tls_is_refused(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> None:
        await asyncio.open_connection("api.example", 443, ssl=True)

    assert "base URL that starts with http://" in str(runner.run(main).exception)
