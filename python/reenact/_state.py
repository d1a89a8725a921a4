"""Which run is active in this process: one at a time. The replaced functions ask here whether they are to be virtual."""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING

from reenact._errors import LivelockError

if TYPE_CHECKING:
    from reenact._loop import VirtualLoop

US_PER_S = 1_000_000
EPOCH_NS = 1_735_689_600 * 1_000_000_000  # 2025-01-01T00:00:00Z
READS_MAX = 5_000_000
MONOTONIC_BASE_S = 1000  # not 0: code that asks `if last_time:` would take the start for "never"


class Clock:
    """The time of a run in microseconds, and what it is on the calendar."""

    __slots__ = ("epoch_ns", "reads", "us")

    def __init__(self, epoch_ns: int = EPOCH_NS) -> None:
        self.us = 0
        self.epoch_ns = epoch_ns
        self.reads = 0
        """How often the time was read since it last went on."""

    def monotonic_s(self) -> float:
        """What `time.monotonic()` is."""
        self.count_read()
        return MONOTONIC_BASE_S + self.us / US_PER_S

    def time_s(self) -> float:
        """What `time.time()` is."""
        self.count_read()
        return (self.epoch_ns + self.us * 1000) / 1_000_000_000

    def count_read(self) -> None:
        """Code that waits by reading the clock would wait for ever: time goes on only when nothing is left to do."""
        self.reads += 1
        if self.reads > READS_MAX:
            self.reads = 0
            raise LivelockError(f"the clock was read {READS_MAX} times with no time passing; let the agent wait with a sleep")


class State:
    """The active run. `clock` is apart from `loop` because it is asked most often."""

    __slots__ = ("clock", "loop")

    def __init__(self) -> None:
        self.clock: Clock | None = None
        self.loop: VirtualLoop | None = None

    def loop_of_caller(self) -> VirtualLoop | None:
        """The loop of the active run, when the calling thread belongs to that run."""
        loop = self.loop
        if loop is None or (get_ident() != loop.thread_id and loop.threads.of_caller() is None):
            return None
        return loop


state = State()
