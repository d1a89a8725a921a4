"""The loop: asyncio's order, virtual time, boundaries, deadlocks and livelocks."""

from __future__ import annotations

import asyncio
import contextvars
import selectors
import time
from typing import Any

import pytest

from conftest import Runner
from reenact import DeadlockError, LivelockError
from reenact._loop import VirtualLoop


async def _order(log: list[Any]) -> None:
    """Many ways to be scheduled; the order in which they come is written down."""
    loop = asyncio.get_running_loop()
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    async def worker(name: str, turns: int) -> str:
        for turn in range(turns):
            log.append((name, turn, variable.get()))
            variable.set(variable.get() + 1)
            await asyncio.sleep(0 if turn % 2 else 0.002 * turns)
        return name

    tasks = [loop.create_task(worker(f"w{number}", number + 2)) for number in range(4)]
    loop.call_later(0.004, log.append, "later 4")
    loop.call_later(0.001, log.append, "later 1")
    loop.call_soon(lambda: loop.call_soon(log.append, "soon of soon"))
    cancelled = loop.call_later(0.003, log.append, "never")
    loop.call_later(0.002, cancelled.cancel)
    tasks[3].cancel()
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    log.append((len(done), len(pending)))
    log.append(await asyncio.gather(*tasks, return_exceptions=True))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    queue: asyncio.Queue[int] = asyncio.Queue(1)

    async def produce() -> None:
        for number in range(3):
            await queue.put(number)
            log.append(f"put {number}")

    producer = loop.create_task(produce())
    for _ in range(3):
        log.append(f"got {await queue.get()}")
    await producer


def _as_text(log: list[Any]) -> list[str]:
    return [repr(entry) for entry in log]


class _JumpingSelector(selectors.SelectSelector):
    """Lets asyncio's own loop jump through time, so that the comparison does not depend on how busy the machine is."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += max(timeout or 0, 0)
        return super().select(0)


class _AsyncioLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, with another clock."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._jumping.now


def test_the_order_is_that_of_asyncio(runner: Runner) -> None:
    real: list[Any] = []
    loop = _AsyncioLoop()
    loop.run_until_complete(_order(real))
    loop.close()
    virtual: list[Any] = []
    outcome = runner.run(lambda loop: _order(virtual))
    assert outcome.exception is None
    assert _as_text(virtual) == _as_text(real)


def test_an_hour_of_sleep_takes_no_time(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> float:
        before = loop.time()
        await asyncio.sleep(3600)
        return loop.time() - before

    start = time.perf_counter()
    outcome = runner.run(main)
    assert outcome.value == pytest.approx(3600)
    assert outcome.ended_at == 3_600_000_000
    assert time.perf_counter() - start < 5


def test_boundaries_are_named_by_the_world_s_events(runner: Runner) -> None:
    names: list[str] = []

    async def main(loop: VirtualLoop) -> None:
        await asyncio.sleep(0)
        await loop.run_tool("toolu_1", "Read", {})
        await asyncio.sleep(0)

    outcome = runner.run(main, on_boundary=names.append)
    assert outcome.exception is None
    assert names == [
        "start + 0",
        "start + 1",
        "start + 2",
        "tool toolu_1 end + 0",
        "tool toolu_1 end + 1",
        "tool toolu_1 end + 2",
    ]
    assert outcome.seen == 1


def test_a_callback_runs_at_its_boundary(runner: Runner) -> None:
    found: list[tuple[str, int]] = []

    async def main(loop: VirtualLoop) -> str:
        task = asyncio.current_task()
        assert task is not None

        def act() -> None:
            found.append((loop.boundary, loop.now_us))
            task.cancel()

        loop.at_boundary("start + 1", act)
        try:
            await loop.run_tool("toolu_1", "Read", {})
        except asyncio.CancelledError:
            return "stopped"
        return "done"

    outcome = runner.run(main)
    assert outcome.value == "stopped"
    assert found == [("start + 1", 0)]  # before time goes on
    assert any('"stopped"' in line for line in runner.transcript)
    assert outcome.seen == 0


def test_a_name_of_no_boundary_is_an_error(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> None:
        loop.at_boundary("answer 1", lambda: None)

    assert "names no boundary" in str(runner.run(main).exception)


def test_acts_are_carried_out_at_times_and_boundaries(runner: Runner) -> None:
    log: list[tuple[str, int, int]] = []

    async def main(loop: VirtualLoop) -> None:
        loop.at_time(10_000, lambda: log.append(("time", loop.now_us, loop.seen)))
        loop.at_boundary("tool b end + 0", lambda: log.append((loop.boundary, loop.now_us, loop.seen)))
        await loop.run_tool("a", "Read", {})
        await loop.run_tool("b", "Read", {})

    assert runner.run(main).exception is None
    assert log == [("time", 10_000, 0), ("tool b end + 0", 80_000, 2)]


def test_a_deadlock_names_the_tasks_and_where_they_wait(runner: Runner) -> None:
    async def wait_for_ever() -> None:
        await asyncio.Event().wait()

    async def main(loop: VirtualLoop) -> None:
        await asyncio.gather(asyncio.create_task(wait_for_ever(), name="waiter"))

    outcome = runner.run(main)
    assert isinstance(outcome.exception, DeadlockError)
    text = str(outcome.exception)
    assert "task 'waiter' waits at" in text
    assert "locks.py" in text
    assert "task 'main' waits at" in text
    assert outcome.left_tasks[0].startswith("task 'waiter'")


def test_a_livelock_names_what_repeats(runner: Runner) -> None:
    async def spin(loop: VirtualLoop) -> None:
        while True:
            await asyncio.sleep(0)

    outcome = runner.run(spin, handles_without_time_max=20_000)
    assert isinstance(outcome.exception, LivelockError)
    assert "task 'main'" in str(outcome.exception)
    assert "spin" in str(outcome.exception)


def test_a_heartbeat_does_not_hide_a_deadlock_for_ever(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> None:
        async def beat() -> None:
            while True:
                await asyncio.sleep(5)

        task = asyncio.create_task(beat(), name="heart")
        await asyncio.Event().wait()
        await task

    outcome = runner.run(main)
    assert isinstance(outcome.exception, LivelockError)
    assert "only timers go on" in str(outcome.exception)


def test_what_is_left_is_named(runner: Runner) -> None:
    kept: list[Any] = []

    async def main(loop: VirtualLoop) -> int:
        kept.append(asyncio.create_task(asyncio.sleep(60), name="left over"))
        await asyncio.sleep(0.1)
        return 1

    outcome = runner.run(main)
    assert outcome.value == 1
    assert outcome.ended_at == 100_000
    assert len(outcome.left_tasks) == 1
    assert outcome.left_tasks[0].startswith("task 'left over' at sleep, asyncio/tasks.py:")


def test_errors_of_callbacks_are_kept(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> None:
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    assert "ZeroDivisionError" in runner.run(main).loop_errors[0]


def test_sets_of_tasks_and_futures_have_one_order(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> list[str]:
        tasks = {asyncio.create_task(asyncio.sleep(1), name=f"t{number}") for number in range(20)}
        names = [task.get_name() for task in tasks]
        names += [str(getattr(future, "number", 0)) for future in {loop.create_future() for _ in range(20)}]
        done, _ = await asyncio.wait(tasks)
        return names + [task.get_name() for task in done]

    assert len({tuple(runner.run(main).value) for _ in range(10)}) == 1


def test_waiting_by_the_clock_is_a_livelock(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reenact._state.READS_MAX", 1000)

    async def main(loop: VirtualLoop) -> None:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass

    assert "the clock was read 1000 times" in str(runner.run(main).exception)
