"""The events of the world that are still to come, in the order in which the world counts them.

That order is: by time, then by the order of the requests, then by the order within one answer.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable


class WorldEvent:
    """A head, a piece or an end of an answer, or the end of a tool."""

    __slots__ = ("at", "deliver", "is_dropped", "name", "needs_loop")

    def __init__(self, at: int, name: str, deliver: Callable[[], None], needs_loop: bool) -> None:
        self.at = at
        self.name = name
        self.deliver = deliver
        self.is_dropped = False
        self.needs_loop = needs_loop
        """Whether a callback of the loop receives it, and not a thread."""


class EventQueue:
    """All events to come, the earliest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, WorldEvent]] = []
        self._sources = 0

    def new_source(self) -> int:
        """A number for a request or a tool: its events come after those of earlier sources at the same time."""
        self._sources += 1
        return self._sources

    def add(self, source: int, part: int, event: WorldEvent) -> None:
        """Puts an event in its place."""
        heapq.heappush(self._heap, (event.at, source, part, event))

    def peek(self) -> WorldEvent | None:
        """The earliest event."""
        heap = self._heap
        while heap:
            event = heap[0][3]
            if not event.is_dropped:
                return event
            heapq.heappop(heap)
        return None

    def pop(self) -> WorldEvent:
        """Takes the earliest event; there must be one."""
        return heapq.heappop(self._heap)[3]

    def first_for_threads(self) -> WorldEvent | None:
        """The earliest event that a thread receives: when a handle blocks, the loop stands still and only threads go on."""
        entries = [entry for entry in self._heap if not entry[3].is_dropped and not entry[3].needs_loop]
        return min(entries)[3] if entries else None

    def remove(self, event: WorldEvent) -> None:
        """Takes an event out of its place."""
        self._heap = [entry for entry in self._heap if entry[3] is not event]
        heapq.heapify(self._heap)
