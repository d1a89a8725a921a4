"""The trace of runs, as one digest: every boundary with its time, and the transcript with the bodies of all requests.

`python traces.py AGENT RUNS [SCENARIO] [BROKEN]` prints the digests that came and how often; BROKEN leaves out one cure, to see that
two runs then differ (see `CURES`).
"""

from __future__ import annotations

import collections
import hashlib
import inspect
import os
import sys
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import agents
from reenact import _chance, _clock, _tasks
from reenact._harness import run_in_world
from reenact._loop import VirtualLoop
from reenact._world import World

STUB = str(Path(__file__).with_name("stub_world.py"))


def trace(world: World, agent: Any, scenario: str = "two_tools") -> list[str]:
    """What can be seen of one run."""
    lines: list[str] = []

    async def main(loop: VirtualLoop) -> Any:
        loop.on_boundary = lambda name: lines.append(f"{loop.now_us} {name}")
        return await agent() if inspect.iscoroutinefunction(agent) else await loop.run_in_executor(None, agent)

    run = world.open(scenario, seed=7)
    outcome = run_in_world(run, main, seed=7)
    verdict = run.end(outcome.ended_at, outcome.seen, transcript=True)
    lines += (verdict.transcript or "").split("\n")
    lines.append(repr((outcome.value, outcome.exception, outcome.left_tasks, outcome.open_connections, outcome.idle_connections)))
    return lines


CURES = ("random", "seed", "urandom", "uuid1", "clock", "datetime", "tasks")


def leave_out(cure: str) -> None:
    """Breaks one thing on purpose, before the first run of the process."""
    if cure == "random":
        _chance.ChanceOfRun.__enter__ = _seed_nothing  # type: ignore[method-assign]
        _chance.ChanceOfRun.__exit__ = lambda chance, *args: None  # type: ignore[method-assign]
    elif cure == "seed":
        _chance.ATTRIBUTES.clear()
    elif cure == "urandom":
        _remove(_chance.REPLACEMENTS, os.urandom)
    elif cure == "uuid1":
        _remove(_chance.REPLACEMENTS, uuid.uuid1)
    elif cure == "clock":
        _remove(_clock.REPLACEMENTS, time.time)
    elif cure == "datetime":
        _clock.calendar.install = lambda: None  # type: ignore[method-assign]
    elif cure == "tasks":
        del _tasks.NumberedTask.__hash__
    elif cure:
        raise SystemExit(f"no cure is called {cure!r}; there are {', '.join(CURES)}")


def _remove(replacements: list[tuple[object, object]], original: object) -> None:
    replacements[:] = [pair for pair in replacements if pair[0] is not original]


def _seed_nothing(chance: _chance.ChanceOfRun) -> _chance.ChanceOfRun:
    _chance.current.chance = _chance.Chance(7)
    return chance


def main() -> None:
    """Runs an agent many times and counts the digests."""
    warnings.simplefilter("ignore")
    name, count = sys.argv[1], int(sys.argv[2])
    scenario = sys.argv[3] if len(sys.argv) > 3 else "two_tools"
    leave_out(sys.argv[4] if len(sys.argv) > 4 else "")
    found: collections.Counter[str] = collections.Counter()
    with World([sys.executable, STUB]) as world:
        start = time.perf_counter()
        first: list[str] = []
        for _ in range(count):
            lines = trace(world, getattr(agents, name), scenario)
            first = first or lines
            if lines != first and len(found) == 1:
                where = next(index for index, pair in enumerate(zip(lines, first, strict=False)) if pair[0] != pair[1])
                print(f"differs at line {where + 1}: {first[where][:120]!r} became {lines[where][:120]!r}")
            found[hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]] += 1
        rate = count / (time.perf_counter() - start)
    print(f"{name} {scenario}: {dict(found.most_common(3))}, {len(found)} traces, {len(first)} lines, {rate:.0f} runs/s")


if __name__ == "__main__":
    main()
