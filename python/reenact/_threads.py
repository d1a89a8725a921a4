"""The threads of a run. Exactly one thing runs at a time: the loop, or one thread while the loop waits.

A thread that waits (a sleep, a lock, a socket, a join) gives the turn back and says what it waits for. The loop gives the turn to the
thread that has waited longest and can go on. So the order depends on virtual time and creation alone. What a thread waits for
outside of the package cannot be seen; if it does not give the turn back, it is refused by name.
"""

from __future__ import annotations

import asyncio
import linecache
import logging
import math
import sys
import threading
import time
from _thread import allocate_lock, get_ident
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reenact._errors import RefusedError
from reenact._state import US_PER_S, state
from reenact._tasks import describe_frame

if TYPE_CHECKING:
    from reenact._loop import VirtualLoop

STUCK_AFTER_S = 2.0
LOOK_EVERY_S = 0.1
OWN_FILES = __file__.rpartition("_threads.py")[0]

_real_start = threading.Thread.start
_real_join = threading.Thread.join
_real_is_alive = threading.Thread.is_alive
_real_time = time.monotonic


class ThreadStopped(BaseException):
    """Ends a thread that is left at the end of a run."""


class _Started:
    """Stands for the event by which `Thread.start` waits for its thread: that wait is short and real."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._lock.acquire()
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        if not self._is_set:
            self._is_set = True
            self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_set:
            self._lock.acquire()
            self._lock.release()
        return True

    def _at_fork_reinit(self) -> None:
        pass


class _Turn:
    """A thread of the run: what it waits for, and the lock by which it gets the turn."""

    __slots__ = ("baton", "deadline_us", "ident", "is_finished", "is_ready", "is_stuck", "thread")

    def __init__(self, thread: threading.Thread) -> None:
        self.thread = thread
        self.baton = allocate_lock()
        self.baton.acquire()
        self.is_ready: Callable[[], bool] = _always
        self.deadline_us: int | None = None
        self.is_finished = False
        self.is_stuck = False
        """Whether it was refused: it has no part in the run any more, whatever it does later."""
        self.ident = 0


class Threads:
    """All threads of one run."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._waiting: list[_Turn] = []
        self._by_ident: dict[int, _Turn] = {}
        self._by_thread: dict[threading.Thread, _Turn] = {}
        self._back = allocate_lock()
        self._back.acquire()
        self._is_over = False
        self._calls = 0
        self.calls_pending: dict[threading.Thread, str] = {}
        """The threads of `run_in_executor` that are not done, each with its name."""
        self.stuck_after_s = STUCK_AFTER_S

    @property
    def are_waiting(self) -> bool:
        """Whether there are threads that may want the turn."""
        return bool(self._waiting)

    def of_caller(self) -> _Turn | None:
        """The calling thread, when it is one of the run's."""
        return self._by_ident.get(get_ident())

    def call(self, func: Callable[..., Any], args: tuple[Any, ...]) -> asyncio.Future[Any]:
        """Calls a function in a thread of its own."""
        loop = self._loop
        future = loop.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        def work() -> None:
            try:
                value, error = func(*args), None
            except ThreadStopped:
                raise
            except BaseException as caught:
                value, error = None, caught
            self.calls_pending.pop(thread, None)
            loop.call_soon_threadsafe(settle, value, error)
            del value, error

        thread = threading.Thread(target=work, name=f"asyncio_{self._calls}")
        self._calls += 1
        self.calls_pending[thread] = thread.name
        thread.start()
        return future

    def start(self, thread: threading.Thread) -> None:
        """Starts a thread: it gets its first turn when the loop waits."""
        turn = _Turn(thread)
        run = thread.run

        def run_by_turns() -> None:
            turn.ident = get_ident()
            turn.baton.acquire()
            self._by_ident[turn.ident] = turn
            try:
                if not self._is_over:
                    run()
            except ThreadStopped:
                pass
            except BaseException:
                if not turn.is_stuck:
                    thread._invoke_excepthook(thread)  # type: ignore[attr-defined]
            finally:
                turn.is_finished = True
                self._by_ident.pop(turn.ident, None)
                if not turn.is_stuck:
                    self._back.release()

        thread.run = run_by_turns  # type: ignore[method-assign]
        thread._started = _Started()  # type: ignore[attr-defined]
        thread._daemonic = True  # type: ignore[attr-defined]  # a thread that is stuck must not hold up the end of the process
        self._by_thread[thread] = turn
        self._waiting.append(turn)
        _real_start(thread)

    def wait(self, is_ready: Callable[[], bool], deadline_us: int | None) -> bool:
        """The calling thread waits; False at the deadline."""
        turn = self._by_ident.get(get_ident())
        if turn is None:
            return self._loop.block(is_ready, deadline_us)
        if self._is_over:
            raise ThreadStopped
        turn.is_ready, turn.deadline_us = is_ready, deadline_us
        self._waiting.append(turn)
        self._back.release()
        turn.baton.acquire()
        if self._is_over:
            raise ThreadStopped
        return is_ready()

    def run_next(self) -> bool:
        """Gives the turn to the thread that has waited longest and can go on. False if none can."""
        now = self._loop.clock.us
        for index, turn in enumerate(self._waiting):
            if (turn.deadline_us is not None and turn.deadline_us <= now) or turn.is_ready():
                del self._waiting[index]
                self._give(turn)
                return True
        return False

    def next_deadline_us(self) -> float:
        """When the first wait ends by time."""
        return min((turn.deadline_us for turn in self._waiting if turn.deadline_us is not None), default=math.inf)

    def join(self, thread: threading.Thread, timeout: float | None) -> None:
        """Waits for the end of a thread of the run, or of another one."""
        turn = self._by_thread.get(thread)
        if turn is not None:
            deadline = None if timeout is None else self._loop.clock.us + round(max(timeout, 0) * US_PER_S)
            if not self.wait(lambda: turn.is_finished, deadline):
                return
        _real_join(thread, None if turn is not None else timeout)

    def is_alive(self, thread: threading.Thread) -> bool:
        """Whether a thread runs; one of the run's ends with its last turn."""
        turn = self._by_thread.get(thread)
        return _real_is_alive(thread) if turn is None else not turn.is_finished

    def describe(self) -> str:
        """Where each thread waits."""
        frames = sys._current_frames()
        return "; ".join(f"thread {turn.thread.name!r} waits at {_describe_stack(frames.get(turn.ident))}" for turn in self._waiting)

    def stop_all(self) -> None:
        """Ends all threads that are left: each raises `ThreadStopped` where it waits."""
        self._is_over = True
        pool_log = logging.getLogger("concurrent.futures")
        was_disabled, pool_log.disabled = pool_log.disabled, True
        try:
            while self._waiting:
                self._give(self._waiting.pop(0))
        finally:
            pool_log.disabled = was_disabled

    def _give(self, turn: _Turn) -> None:
        turn.baton.release()
        if self._back.acquire(timeout=LOOK_EVERY_S):
            return
        last, since = (0, 0), _real_time()
        while not self._back.acquire(timeout=LOOK_EVERY_S):
            frame = sys._current_frames().get(turn.ident)
            place = (id(frame), frame.f_lasti if frame is not None else 0)
            if place != last:
                last, since = place, _real_time()
            elif _real_time() - since > self.stuck_after_s:
                self._is_over = turn.is_stuck = True
                where = _describe_stack(frame, with_line=True)
                raise RefusedError(
                    f"thread {turn.thread.name!r} does not give its turn back: it stands at {where}. A wait for something outside "
                    "of the run cannot be made virtual; make the lock, queue or pool within the run, or use `reenact drive`"
                )


def _always() -> bool:
    return True


def _describe_stack(frame: Any, with_line: bool = False) -> str:
    """The innermost frame that is not the package's own."""
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(OWN_FILES):
        frame = frame.f_back
    if frame is None:
        return "its start"
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() if with_line else ""
    return describe_frame(frame) + (f" (`{line}`)" if line else "")


def _start(thread: threading.Thread) -> None:
    loop = state.loop_of_caller()
    if loop is None:
        _real_start(thread)
    else:
        loop.threads.start(thread)


def _join(thread: threading.Thread, timeout: float | None = None) -> None:
    loop = state.loop_of_caller()
    if loop is None:
        _real_join(thread, timeout)
    else:
        loop.threads.join(thread, timeout)


def _is_alive(thread: threading.Thread) -> bool:
    loop = state.loop
    return _real_is_alive(thread) if loop is None else loop.threads.is_alive(thread)


METHODS: list[tuple[type, str, object]] = [
    (threading.Thread, "start", _start),
    (threading.Thread, "join", _join),
    (threading.Thread, "is_alive", _is_alive),
]
"""What is replaced in classes during a run."""
