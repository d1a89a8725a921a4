"""Counts the escapes of agents: reads of the real clock and of real chance within a run.

Two counters look: one for calls of Python's own functions, by the profiler, and one for what libraries in C ask of the system, preloaded from
`native/escapes.c`.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import reenact
from reenact import _harness

TWO = Path(__file__).parent / "scenarios" / "two.toml"


def _stamp() -> float:
    return REAL_TIME[0]()


REAL_TIME = [time.time]
"""A reference that nothing finds: in a list."""


class PythonLeak:
    """Says the real time to the model, by a function that was kept from before the run."""

    def __init__(self, session: Any) -> None:
        import loops

        self._loop = loops.NaiveLoop(session)

    async def prompt(self, text: str) -> None:
        await self._loop.prompt(f"{text} {_stamp()}")


class LeakyAgent:
    """Says the real time to the model, read through C."""

    def __init__(self, session: Any) -> None:
        import loops

        self._loop = loops.NaiveLoop(session)

    async def prompt(self, text: str) -> None:
        now = (ctypes.c_long * 2)()
        ctypes.CDLL(None).clock_gettime(0, ctypes.byref(now))
        await self._loop.prompt(f"{text} {now[0]}.{now[1]:09}")


REAL = [
    time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns, time.process_time,
    time.localtime, time.gmtime, time.sleep, os.urandom, os.getrandom,
]  # fmt: skip
NAMES = {id(function): f"{function.__module__}.{function.__name__}" for function in REAL}
OWN_FILES = os.path.dirname(reenact.__file__)


class CallCounter:
    """Counts calls of the real functions from Python, but for the package's own."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def __call__(self, frame: Any, event: str, called: Any) -> None:
        if event == "c_call" and id(called) in NAMES and not frame.f_code.co_filename.startswith(OWN_FILES):
            name = NAMES[id(called)]
            self.counts[name] = self.counts.get(name, 0) + 1


def count(agent: Any) -> dict[str, int]:
    """The escapes of one run; the runs before it have loaded all that is loaded late."""
    counter = ctypes.CDLL(None)
    counter.escapes_name.restype = ctypes.c_char_p
    counter.escapes_count.restype = ctypes.c_long
    calls = CallCounter()
    for _ in range(2):
        reenact.run(TWO, agent)
    run_to_end = _harness._run_to_end

    def counted(*arguments: Any) -> None:
        counter.escapes_start()
        threading.setprofile(calls)
        sys.setprofile(calls)
        try:
            run_to_end(*arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            counter.escapes_stop()

    _harness._run_to_end = counted
    try:
        reenact.run(TWO, agent)
    finally:
        _harness._run_to_end = run_to_end
    counts = {counter.escapes_name(kind).decode(): counter.escapes_count(kind) for kind in range(counter.escapes_kinds())}
    return {name: found for name, found in {**counts, **calls.counts}.items() if found}


if __name__ == "__main__":
    module, name = sys.argv[1].split(":")
    print(json.dumps(count(getattr(importlib.import_module(module), name))))
