"""Runs an agent in the world: sets up clock, chance, guard, threads and loop, runs the agent to its end, and says what it left behind."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from reenact import _asyncio, _chance, _clock, _guard, _locks, _quiet, _sockets, _threads
from reenact._errors import ReenactError, RefusedError
from reenact._loop import VirtualLoop
from reenact._references import References
from reenact._state import EPOCH_NS, US_PER_S, Clock, state
from reenact._tasks import where_task_waits
from reenact._world import OpenRun

T = TypeVar("T")

SETTLE_ITERATIONS_MAX = 10_000
DRAIN_TIME_MAX_US = 600 * US_PER_S
DRAIN_ROUNDS_MAX = 10


@dataclass
class LoopOutcome(Generic[T]):
    """What came of a run."""

    value: T | None = None
    exception: BaseException | None = None
    left_tasks: list[str] = field(default_factory=list)
    """Tasks and calls in threads that were not done when the agent was: name and place."""
    open_connections: list[str] = field(default_factory=list)
    """Answers that were still on the way: `answer 3`."""
    idle_connections: int = 0
    """Connections that the client's pool still has."""
    refusals: list[str] = field(default_factory=list)
    """What was refused, also where the agent swallowed the error."""
    loop_errors: list[str] = field(default_factory=list)
    """What was given to the loop's exception handler."""
    boundaries_count: int = 0
    """The handles that ran till the agent was done; each is a boundary."""
    ended_at: int = 0
    """Microseconds of the run."""
    seen: int = 0
    """Events of the world that were delivered."""


class Harness:
    """What is the same for all runs of a process."""

    def __init__(self) -> None:
        self._references = References()
        self._quiet = _quiet.Quiet()
        self._garbage = _quiet.Garbage()
        self._certificates = _quiet.Certificates()
        self._modules_known: set[str] = set()
        replacements = _asyncio.REPLACEMENTS + _clock.REPLACEMENTS + _chance.REPLACEMENTS + _locks.REPLACEMENTS + _sockets.REPLACEMENTS
        replacements += _guard.REPLACEMENTS
        for original, replacement in replacements:
            self._references.replace(original, replacement)
        for owner, name, replacement in [*_chance.ATTRIBUTES, *_locks.ATTRIBUTES, *_threads.METHODS, *_guard.METHODS]:
            self._references.replace_attribute(owner, name, replacement)

    def prepare(self) -> None:
        """Looks for libraries that were loaded since, and need cures of their own."""
        if "numpy" in sys.modules and "numpy.random" not in sys.modules:
            importlib.import_module("numpy.random")  # numpy loads it late, and then draws
        for name in ("uuid_utils", "httpcore2._ssl", "ssl"):
            if name not in self._modules_known and name in sys.modules:
                self._modules_known.add(name)
                is_uuid = name == "uuid_utils"
                found = _chance.replacements_of_uuid_utils(sys.modules[name]) if is_uuid else self._certificates.replacements()
                for original, replacement in found:
                    self._references.replace(original, replacement)

    def run(self, run: OpenRun, main: Callable[[VirtualLoop], Awaitable[T]], seed: int, epoch_ns: int, options: dict[str, Any]) -> LoopOutcome[T]:
        """Runs one agent."""
        if state.loop is not None:
            raise ReenactError("a run is active in this process; one process has one run at a time")
        self.prepare()
        _clock.calendar.install()
        clock = Clock(epoch_ns)
        outcome: LoopOutcome[T] = LoopOutcome()
        with self._garbage, self._quiet, _guard.guard:
            loop = VirtualLoop(run, clock)
            for name, value in options.items():
                setattr(loop, name, value)
            self._references.install()
            state.clock, state.loop = clock, loop
            try:
                with _chance.ChanceOfRun(seed):
                    _run_to_end(loop, main, outcome)
            finally:
                state.clock = state.loop = None
                self._references.uninstall()
                outcome.refusals = list(RefusedError.told)
        return outcome


def _run_to_end(loop: VirtualLoop, main: Callable[[VirtualLoop], Awaitable[T]], outcome: LoopOutcome[T]) -> None:
    loop.set_exception_handler(lambda _, context: outcome.loop_errors.append(_describe_context(context)))
    for act in loop.run.interrupts:
        loop.schedule_act(act)
    asyncio.set_event_loop(loop)
    try:
        task = loop.create_task(_await(main, loop), name="main")
        try:
            outcome.value = loop.run_until_complete(task)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            outcome.exception = error
        outcome.ended_at, outcome.seen, outcome.boundaries_count = loop.clock.us, loop.seen, loop.handles_run
        loop.on_boundary = None
        _settle(loop)
        outcome.left_tasks = [f"task {left.get_name()!r} at {where_task_waits(left)}" for left in loop.pending_tasks() if left is not task] + [
            f"thread {name!r}" for name in loop.threads.calls_pending.values()
        ]
        outcome.open_connections = [f"answer {number}" for number in loop.connections.answers_unfinished()]
        outcome.idle_connections = loop.connections.idle_count()
        _drain(loop)
    finally:
        try:
            loop.threads.stop_all()
        finally:
            asyncio.set_event_loop(None)
            loop.close()


async def _await(main: Callable[[VirtualLoop], Awaitable[T]], loop: VirtualLoop) -> T:
    return await main(loop)


def _settle(loop: VirtualLoop) -> None:
    """Runs what is ready, with no time passing: closing a client takes a few handles, and a thread may be about to end."""
    for _ in range(SETTLE_ITERATIONS_MAX):
        if not loop._ready:
            if not loop.threads.run_next():
                return
            continue
        loop.stop()
        with contextlib.suppress(ReenactError):
            loop.run_forever()


def _drain(loop: VirtualLoop) -> None:
    """Cancels what is left and lets it end, as `asyncio.run` does."""
    loop.time_max_us = loop.clock.us + DRAIN_TIME_MAX_US
    for _ in range(DRAIN_ROUNDS_MAX):
        tasks = loop.pending_tasks()
        if not tasks:
            break
        for task in tasks:
            task.cancel()
        try:
            loop.run_until_complete(asyncio.wait(tasks))
        except ReenactError:
            continue
    with contextlib.suppress(ReenactError):
        loop.run_until_complete(loop.shutdown_asyncgens())
    _settle(loop)


def _describe_context(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"{context.get('message', '')}" + (f": {error!r}" if error is not None else "")


_harness: list[Harness] = []


def run_in_world(
    open_run: OpenRun,
    main: Callable[[VirtualLoop], Awaitable[T]],
    *,
    seed: int,
    epoch_ns: int = EPOCH_NS,
    **options: Any,
) -> LoopOutcome[T]:
    """Runs `main(loop)` in virtual time against an open run of the world. `options` are set on the loop (`on_act`, `on_boundary`, limits)."""
    if not _harness:
        _harness.append(Harness())
    return _harness[0].run(open_run, main, seed, epoch_ns, options)
