"""What cannot be made virtual is refused by name, and kept where the agent swallows the error."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Runner
from reenact import RefusedError
from reenact._loop import VirtualLoop


def _udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", 9))


def _unix() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect("/tmp/none")


def _process() -> None:
    multiprocessing.get_context("spawn").Process(target=print).start()


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: subprocess.run(["true", "now"]), "subprocess.Popen('true now')"),
    (lambda: os.system("true"), "os.system"),
    (os.fork, "os.fork"),
    (_udp, "socket.sendto(('127.0.0.1', 9))"),
    (_unix, "socket.connect('/tmp/none')"),
    (_process, "multiprocessing"),
]


@pytest.mark.parametrize(("call", "name"), CALLS, ids=[name for _, name in CALLS])
@pytest.mark.parametrize("is_in_thread", [False, True])
def test_calls_are_refused(runner: Runner, call: Callable[[], Any], name: str, is_in_thread: bool) -> None:
    async def main(loop: VirtualLoop) -> None:
        if is_in_thread:
            await asyncio.to_thread(call)
        else:
            call()

    outcome = runner.run(main)
    assert isinstance(outcome.exception, RefusedError)
    assert name in str(outcome.exception)
    assert "reenact drive" in str(outcome.exception)
    assert outcome.refusals == [str(outcome.exception)]


@pytest.mark.parametrize("call", ["exec", "shell"])
def test_asyncio_s_processes_are_refused(runner: Runner, call: str) -> None:
    async def main(loop: VirtualLoop) -> None:
        await (asyncio.create_subprocess_exec("true") if call == "exec" else asyncio.create_subprocess_shell("true"))

    assert "a subprocess ('true')" in str(runner.run(main).exception)


def test_a_swallowed_refusal_is_kept(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> str:
        try:
            subprocess.run(["true"])
        except Exception:
            return "swallowed"
        return ""

    outcome = runner.run(main)
    assert outcome.value == "swallowed"
    assert len(outcome.refusals) == 1


def test_outside_of_a_run_nothing_is_refused(runner: Runner) -> None:
    runner.run(lambda loop: asyncio.sleep(0))
    assert subprocess.run([sys.executable, "-c", ""]).returncode == 0
    one, other = socket.socketpair()
    one.close()
    other.close()


def test_a_socketpair_within_a_run_is_real(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> bytes:
        one, other = socket.socketpair()
        with one, other:
            one.send(b"x")
            return other.recv(1)

    assert runner.run(main).value == b"x"
