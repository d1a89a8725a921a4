"""Boundaries: the places between two handles, named by the last event of the world and the number of handles since.

`answer 1 piece 21 + 8` is the place before the ninth handle after the delivery of that piece. Such names survive most releases of the
libraries in between, and every instant at which an agent can be interrupted has one.
"""

from __future__ import annotations

from collections.abc import Callable

START = "start"


class Boundaries:
    """Where the run is, and what is to happen where."""

    def __init__(self) -> None:
        self.event = START
        self.handles = 0
        """Handles that ran since the event."""
        self.count = 0
        """Boundaries passed in the whole run."""
        self.is_watched = False
        """Whether somebody waits for a boundary; else `pass_by` need not be called."""
        self._watcher: Callable[[str], None] | None = None
        self._passed = -1
        self._callbacks: dict[str, dict[int, list[Callable[[], object]]]] = {}

    @property
    def name(self) -> str:
        """The name of the current boundary."""
        return f"{self.event} + {self.handles}"

    @property
    def is_new(self) -> bool:
        """Whether the current boundary was not passed by yet. One can be met twice: while the loop waits, and before the next handle."""
        return self._passed != self.handles

    def watch(self, watcher: Callable[[str], None] | None) -> None:
        """Sets what is called at each boundary."""
        self._watcher = watcher
        self.is_watched = watcher is not None or bool(self._callbacks)

    @property
    def watcher(self) -> Callable[[str], None] | None:
        """What is called at each boundary."""
        return self._watcher

    def add(self, name: str, callback: Callable[[], object]) -> None:
        """Sets what is called at one boundary, once."""
        event, plus, number = name.rpartition(" + ")
        if not plus or not number.isdigit():
            raise ValueError(f"{name!r} names no boundary; write it as `answer 1 piece 21 + 8` or `start + 0`")
        self._callbacks.setdefault(event, {}).setdefault(int(number), []).append(callback)
        self.is_watched = True

    def pass_by(self) -> None:
        """Calls what is set for the current boundary."""
        self._passed = self.handles
        if self._watcher is not None:
            self._watcher(self.name)
        callbacks = self._callbacks.get(self.event)
        if callbacks is not None:
            for callback in callbacks.pop(self.handles, ()):
                callback()
            if not callbacks:
                self._callbacks.pop(self.event, None)
                self.is_watched = self._watcher is not None or bool(self._callbacks)

    def enter(self, event: str) -> None:
        """An event of the world was delivered: the count starts anew."""
        self.event = event
        self.handles = 0
        self._passed = -1
