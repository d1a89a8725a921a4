"""Locks that are made in a run. One that is free costs a real acquire; a wait for one that is taken is virtual.

All of `threading` and `queue` is built on these locks in Python code, so events, conditions, queues and pools of a run are virtual too.
Outside of a run such a lock is an ordinary one.
"""

from __future__ import annotations

import queue
import threading
from _thread import allocate_lock

from reenact._state import US_PER_S, state


class VirtualLock:
    """Stands for `threading.Lock`."""

    __slots__ = ("__weakref__", "_real", "locked", "release")

    def __init__(self) -> None:
        self._real = allocate_lock()
        self.locked = self._real.locked
        self.release = self._real.release

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        real = self._real
        if real.acquire(False):
            return True
        if not blocking or timeout == 0:
            return False
        loop = state.loop_of_caller()
        if loop is None:
            return real.acquire(True, timeout)
        deadline = None if timeout < 0 else loop.clock.us + round(timeout * US_PER_S)
        while not real.acquire(False):
            if not loop.threads.wait(self._is_free, deadline):
                return real.acquire(False)
        return True

    def _is_free(self) -> bool:
        return not self._real.locked()

    def __enter__(self) -> bool:
        return self._real.acquire(False) or self.acquire()

    def __exit__(self, *args: object) -> None:
        self._real.release()

    def _at_fork_reinit(self) -> None:
        self.__init__()  # type: ignore[misc]


REPLACEMENTS: list[tuple[object, object]] = [
    (threading.Lock, VirtualLock),
    (threading.RLock, threading._PyRLock),  # type: ignore[attr-defined]
    (queue.SimpleQueue, queue._PySimpleQueue),  # type: ignore[attr-defined]
]
"""`threading._allocate_lock` is the same object as `threading.Lock` up to Python 3.12."""

ATTRIBUTES: list[tuple[object, str, object]] = [(threading, "_allocate_lock", VirtualLock)]
