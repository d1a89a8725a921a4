"""Threads of a run: one at a time, in virtual time, and refused when they wait for something that is not virtual."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Runner
from reenact import DeadlockError, LivelockError, RefusedError, _clock
from reenact._loop import VirtualLoop


def test_sleeping_threads_interleave_by_time(runner: Runner) -> None:
    log: list[Any] = []

    def sleeper(name: str, step: float) -> str:
        for turn in range(3):
            time.sleep(step)
            log.append((name, turn, round(time.monotonic() - 1000, 3)))
        return name

    async def main(loop: VirtualLoop) -> list[str]:
        return await asyncio.gather(asyncio.to_thread(sleeper, "slow", 0.3), asyncio.to_thread(sleeper, "fast", 0.1))

    start = time.perf_counter()
    outcome = runner.run(main)
    assert outcome.value == ["slow", "fast"]
    assert time.perf_counter() - start < 0.5
    expected = [("fast", 0, 0.1), ("fast", 1, 0.2), ("slow", 0, 0.3), ("fast", 2, 0.3), ("slow", 1, 0.6), ("slow", 2, 0.9)]
    assert log == expected


def test_plain_threads_queues_events_and_pools_are_virtual(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> Any:
        def work() -> list[Any]:
            log: list[Any] = []
            items: queue.Queue[int] = queue.Queue(2)
            done = threading.Event()

            def produce() -> None:
                for number in range(4):
                    time.sleep(1)
                    items.put(number)
                done.set()

            producer = threading.Thread(target=produce)
            producer.start()
            log += [items.get() for _ in range(4)]
            assert done.wait(5)
            producer.join()
            log.append(producer.is_alive())
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                log += pool.map(_square, range(5))
            with pytest.raises(queue.Empty):
                items.get(timeout=2)
            return [*log, round(time.monotonic() - 1000, 3)]

        return await asyncio.to_thread(work)

    for _ in range(5):
        outcome = runner.run(main)
        assert outcome.exception is None
        assert outcome.value == [0, 1, 2, 3, False, 0, 1, 4, 9, 16, 12.0]


def _square(number: int) -> int:
    time.sleep(number)
    return number * number


def test_a_pool_of_the_agent_s_own(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> list[int]:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return list(await asyncio.gather(*(loop.run_in_executor(pool, _square, number) for number in (1, 2, 3))))

    outcome = runner.run(main)
    assert outcome.value == [1, 4, 9]
    assert outcome.ended_at == 6_000_000  # one after the other


def test_anyio_s_worker_threads(runner: Runner) -> None:
    anyio: Any = pytest.importorskip("anyio", reason="anyio is not installed")

    async def main(loop: VirtualLoop) -> Any:
        async def call(number: int) -> Any:
            return await anyio.to_thread.run_sync(_square, number)

        first = await call(3)
        return [first, *await asyncio.gather(call(1), call(2))]

    outcome = runner.run(main)
    assert outcome.exception is None
    assert outcome.value == [9, 1, 4]
    assert outcome.ended_at == 5_000_000


def test_sleep_in_the_loop_s_thread_blocks_the_loop(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> int:
        ticks: list[int] = []
        loop.call_later(0.5, lambda: ticks.append(loop.now_us))
        time.sleep(2)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return ticks[0]

    assert runner.run(main).value == 2_000_000


def test_a_virtual_socket_in_a_thread(runner: Runner) -> None:
    def agent() -> Any:
        with socket.create_connection(("api.example", 80), timeout=5) as connection:
            connection.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            with connection.makefile("rb") as file:
                return file.readline(), socket.getaddrinfo("nowhere.example", 80)[0][4]

    assert runner.thread(agent).value == (b"HTTP/1.1 200 OK\r\n", ("127.0.0.1", 80))


def test_a_socket_s_timeout_is_virtual(runner: Runner) -> None:
    def agent() -> str:
        connection = socket.create_connection(("api.example", 80), timeout=5)
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        try:
            connection.recv(100)
        except TimeoutError:
            return f"{time.monotonic() - 1000}"
        return ""

    outcome = runner.thread(agent, "two_tools.silent")
    assert outcome.value == "5.0"
    assert outcome.open_connections == ["answer 1"]


def test_a_foreign_lock_is_refused_by_name(runner: Runner) -> None:
    foreign = threading.Lock()
    foreign.acquire()

    async def main(loop: VirtualLoop) -> None:
        loop.threads.stuck_after_s = 0.3
        await asyncio.to_thread(_acquire, foreign.acquire)

    outcome = runner.run(main)
    foreign.release()
    assert isinstance(outcome.exception, RefusedError)
    assert "does not give its turn back" in str(outcome.exception)
    assert "_acquire" in str(outcome.exception)
    assert "`acquire()`" in str(outcome.exception)


def _acquire(acquire: Callable[[], Any]) -> None:
    acquire()


def test_a_foreign_lock_that_is_free_passes(runner: Runner) -> None:
    foreign = threading.Lock()

    def agent() -> int:
        with foreign:
            return 1

    assert runner.thread(agent).value == 1


def test_a_lock_that_nobody_releases_is_a_deadlock(runner: Runner) -> None:
    def agent() -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    outcome = runner.thread(agent)
    assert isinstance(outcome.exception, DeadlockError)
    assert "thread 'asyncio_0' waits at" in str(outcome.exception)
    assert outcome.left_tasks == ["thread 'asyncio_0'"]


def test_a_foreign_thread_may_not_call_into_the_loop(runner: Runner) -> None:
    go = threading.Event()
    target: list[VirtualLoop] = []

    def call() -> None:
        go.wait()
        with pytest.raises(RefusedError):
            target[0].call_soon_threadsafe(print)

    stranger = threading.Thread(target=call, name="stranger")
    stranger.start()

    async def main(loop: VirtualLoop) -> None:
        target.append(loop)
        go.set()
        for _ in range(2000):
            _clock.real_sleep(0.001)  # a name in this module would be made virtual
            await asyncio.sleep(0)

    outcome = runner.run(main)
    stranger.join()
    assert "thread 'stranger' calls into the loop" in str(outcome.exception)


def test_left_threads_are_ended(runner: Runner) -> None:
    ended: list[str] = []

    def wait() -> None:
        try:
            threading.Event().wait()
        finally:
            ended.append("ended")

    async def main(loop: VirtualLoop) -> int:
        threading.Thread(target=wait).start()
        await asyncio.sleep(1)
        return 1

    assert runner.run(main).value == 1
    assert ended == ["ended"]


def test_threads_that_spin_are_a_livelock(runner: Runner) -> None:
    def spin() -> None:
        while True:
            time.sleep(0)

    outcome = runner.thread(spin, handles_without_time_max=500)
    assert isinstance(outcome.exception, LivelockError)
    assert "thread 'asyncio_0' waits at" in str(outcome.exception)


def test_a_thread_that_never_got_its_turn_is_ended(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> None:
        raise KeyError(asyncio.ensure_future(asyncio.to_thread(time.sleep, 1)).get_name())

    outcome = runner.run(main)
    assert isinstance(outcome.exception, KeyError)
    assert outcome.left_tasks[-1] == "thread 'asyncio_0'"
