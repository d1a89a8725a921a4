"""Figures: runs a second, sweeps, and the cost of the world beside replies that come from memory. Rounds are interleaved; the median ratio counts.

    REENACT_PROGRAM=target/dist/reenact python python/tests/measure.py
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loops

import reenact
from reenact import _run
from reenact._world import World

TWO = Path(__file__).parent / "scenarios" / "two.toml"
ROUNDS = 15
RUNS_A_ROUND = 20


class MemoryWorld(World):
    """Gives the replies of an earlier run again, without a process."""

    def __init__(self, replies: list[dict[str, Any]]) -> None:
        self.is_broken = False
        self._replies = replies
        self._next = 0

    def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        if line["op"] == "open":
            self._next = 0
        self._next += 1
        return self._replies[self._next - 1]

    def tell(self, line: dict[str, Any]) -> None:
        pass


class HeardWorld(World):
    """The program, with its replies kept."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[dict[str, Any]] = []

    def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        reply = super().ask(line)
        self.replies.append(reply)
        return reply


def _use(world: World) -> None:
    _run._worlds.clear()
    _run._worlds[_run.os.getpid()] = world


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(name: str, agent: reenact.AgentFactory) -> None:
    """Prints the figures of one agent."""

    def runs() -> None:
        for _ in range(RUNS_A_ROUND):
            reenact.run(TWO, agent)

    heard = HeardWorld()
    _use(heard)
    reenact.run(TWO, agent).check()
    worlds = [World(), MemoryWorld(heard.replies)]
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for world, taken in zip(worlds, times, strict=True):
            _use(world)
            taken.append(_timed(runs))
    ratio = statistics.median(one / other for one, other in zip(*times, strict=True))
    rate = RUNS_A_ROUND / statistics.median(times[0])
    _use(worlds[0])
    took = _timed(lambda: reenact.sweep(TWO, agent, actions="cancel"))
    print(f"{name}: {rate:.0f} runs/s; {ratio:.2f} of a run with replies from memory; a sweep with cancel {took:.2f} s")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measure("AsyncAnthropic", loops.CarefulLoop)
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "findings"))
    try:
        import pydantic_ai_agent

        measure("pydantic-ai", pydantic_ai_agent.agent)
    except ImportError as error:
        print(f"pydantic-ai: SKIPPED: {error}")
    try:
        import langgraph_agents

        measure("LangGraph", langgraph_agents.prebuilt)
    except ImportError as error:
        print(f"LangGraph: SKIPPED: {error}")
