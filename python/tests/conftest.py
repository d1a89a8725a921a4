"""The stand-in for the world, one process for all tests, and short ways to run an agent in it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reenact import _run
from reenact._harness import LoopOutcome, run_in_world
from reenact._loop import VirtualLoop
from reenact._world import OpenRun, World

STUB = Path(__file__).with_name("stub_world.py")
os.environ.setdefault("REENACT_PROGRAM", str(STUB))


PROGRAM = os.environ.get("REENACT_REAL_PROGRAM")
FINDINGS = Path(__file__).parents[2] / "docs" / "findings"

WITH_PROGRAM = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(PROGRAM is None, reason="REENACT_REAL_PROGRAM does not name the program: set it to target/debug/reenact"),
    pytest.mark.usefixtures("real_program"),
]
"""The marks of tests that need the program itself."""


def needs(*names: str) -> pytest.MarkDecorator:
    """The mark of tests that need these packages."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}; pip install {' '.join(missing)} to run this")


def suite_says(folder: Path, *arguments: str) -> tuple[int, str]:
    """What pytest with the plugin says of the suite in a folder: exit code and output."""
    plugin = [] if importlib.util.find_spec("reenact") is None else ["-p", "reenact.pytest_plugin"]
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)]), "CI": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "--tb=short", "-p", "no:cacheprovider", *plugin, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout


@pytest.fixture
def real_program(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package speaks with the program in place of the stand-in."""
    monkeypatch.setenv("REENACT_PROGRAM", str(PROGRAM))
    monkeypatch.syspath_prepend(FINDINGS)
    _close_worlds()
    yield
    _close_worlds()


def _close_worlds() -> None:
    for world in _run._worlds.values():
        world.close()
    _run._worlds.clear()


class Runner:
    """Runs agents in the stand-in."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.transcript: list[str] = []

    def open(self, scenario: str = "two_tools") -> OpenRun:
        return self.world.open(scenario, seed=7)

    def run(self, main: Callable[[VirtualLoop], Awaitable[Any]], scenario: str = "two_tools", *, seed: int = 7, **options: Any) -> LoopOutcome[Any]:
        run = self.open(scenario)
        outcome = run_in_world(run, main, seed=seed, **options)
        verdict = run.end(outcome.ended_at, outcome.seen, transcript=True)
        self.transcript = (verdict.transcript or "").split("\n")
        return outcome

    def agent(self, agent: Callable[..., Awaitable[Any]], scenario: str = "two_tools", **options: Any) -> LoopOutcome[Any]:
        """Runs an agent that knows nothing of the loop."""

        async def main(loop: VirtualLoop) -> Any:
            return await agent()

        return self.run(main, scenario, **options)

    def thread(self, agent: Callable[..., Any], scenario: str = "two_tools", **options: Any) -> LoopOutcome[Any]:
        """Runs a synchronous agent in a thread."""

        async def main(loop: VirtualLoop) -> Any:
            return await loop.run_in_executor(None, agent)

        return self.run(main, scenario, **options)


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with World([sys.executable, str(STUB)]) as started:
        yield started


@pytest.fixture
def runner(world: World) -> Runner:
    return Runner(world)
