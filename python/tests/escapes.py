"""Counts the escapes of agents: reads of the real clock and of real chance within a run.

For a process with the counter of `native/escapes.c` preloaded.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import select
import sys
from pathlib import Path
from typing import Any

import reenact
from reenact import _harness, _sockets, _threads

TWO = Path(__file__).parent / "scenarios" / "two.toml"


class LeakyAgent:
    """Says the real time to the model, read through C."""

    def __init__(self, session: Any) -> None:
        import loops

        self._loop = loops.NaiveLoop(session)

    async def prompt(self, text: str) -> None:
        now = (ctypes.c_long * 2)()
        ctypes.CDLL(None).clock_gettime(0, ctypes.byref(now))
        await self._loop.prompt(f"{text} {now[0]}.{now[1]:09}")


class KnownPoll:
    """Stands for `select.poll` on the two descriptors of the package. The real one reads the clock for its timeout of zero, which no agent sees."""

    def register(self, descriptor: int, events: int) -> None:
        self._descriptor = descriptor

    def poll(self, timeout: int) -> list[tuple[int, int]]:
        assert timeout == 0
        return [(self._descriptor, select.POLLIN)] if self._descriptor == _sockets._poll_files.number(True) else []


def count(agent: Any) -> dict[str, int]:
    """The escapes of one run; the runs before it have loaded all that is loaded late."""
    counter = ctypes.CDLL(None)
    counter.escapes_name.restype = ctypes.c_char_p
    counter.escapes_count.restype = ctypes.c_long
    # The watchdog for threads that stand still waits by the real clock.
    _threads.LOOK_EVERY_S = -1
    select.poll = KnownPoll  # type: ignore[assignment,misc]
    for _ in range(2):
        reenact.run(TWO, agent)
    run_to_end = _harness._run_to_end

    def counted(*arguments: Any) -> None:
        counter.escapes_start()
        try:
            run_to_end(*arguments)
        finally:
            counter.escapes_stop()

    _harness._run_to_end = counted
    try:
        reenact.run(TWO, agent)
    finally:
        _harness._run_to_end = run_to_end
    counts = {counter.escapes_name(kind).decode(): counter.escapes_count(kind) for kind in range(counter.escapes_kinds())}
    return {name: found for name, found in counts.items() if found}


if __name__ == "__main__":
    module, name = sys.argv[1].split(":")
    print(json.dumps(count(getattr(importlib.import_module(module), name))))
