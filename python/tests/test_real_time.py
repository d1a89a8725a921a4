"""An agent in virtual time does what it does in real time: the same requests, waits and errors as over real HTTP with `reenact drive`."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import reenact
from conftest import FINDINGS, PROGRAM, WITH_PROGRAM
from reenact._player import describe_error

HERE = Path(__file__).parent

pytestmark = WITH_PROGRAM

AGENTS = {
    "anthropic": ("loops", "CarefulLoop"),
    "anthropic, five retries": ("loops", "PersistentLoop"),
    "pydantic_ai": ("pydantic_ai_agent", "agent"),
    "langgraph": ("langgraph_agents", "own"),
}

SCENARIOS = ["overloaded", "cut", "stall"]

EARLY_S = 0.2
"""How much shorter a gap may be in real time: the request before it may have come late."""
LATE_S = 0.6
"""How much longer: the machine is shared."""


@dataclass
class Deeds:
    """What an agent did: when each request came after the first, how it was answered, and how the prompt ended."""

    gaps: list[float]
    statuses: list[int]
    error: str
    took: float

    def line(self) -> str:
        gaps = ", ".join(f"{gap:.2f}" for gap in self.gaps) or "one request"
        return f"{gaps} s; {self.statuses}; {self.error or 'ok'}; {self.took:.2f} s"


class RealSession:
    """The session of an agent over real HTTP."""

    def __init__(self, base_url: str) -> None:
        self.base_url, self.api_key, self.model, self.max_tokens = base_url, "none", "claude-opus-4-6", 1000
        self.tools = [{"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object"}}]

    async def tool(self, tool_use_id: str, name: str, tool_input: object = None) -> reenact.ToolResult:
        await asyncio.sleep(0.04)
        return reenact.ToolResult("hello", False)


def in_virtual_time(scenario: Path, agent: Any) -> Deeds:
    done = reenact.run(scenario, agent)
    asked = [request for request in done.verdict.requests if request["message"] is not None]
    times = [request["at_us"] / 1e6 for request in asked]
    gaps = [one - other for other, one in itertools.pairwise(times)]
    return Deeds(gaps, [request["status"] for request in asked], done.outcomes[0].words, (asked[-1]["over_at_us"] or 0) / 1e6)


REQUEST = re.compile(r"^ +(?P<at>[0-9.]+)s  \S+ +.* ->  .*: (?P<status>[0-9]+), ", re.MULTILINE)
"""A request in what `drive` prints in the end."""


def in_real_time(scenario: Path, module: str, attribute: str) -> Deeds:
    path = os.pathsep.join([str(HERE), str(HERE.parent), str(FINDINGS)])
    client = [sys.executable, "-W", "ignore", __file__, "{base}", str(scenario), module, attribute]
    command = [str(PROGRAM), "drive", str(scenario), "--keep-env", "--", *client]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": path})
    output = next((line for line in done.stdout.splitlines() if line.startswith("output ")), None)
    assert output is not None, done.stdout + done.stderr
    told = json.loads(output.removeprefix("output"))
    asked = [(float(request["at"]), int(request["status"])) for request in REQUEST.finditer(done.stdout)]
    gaps = [one - other for (other, _), (one, _) in itertools.pairwise(asked)]
    return Deeds(gaps, [status for _, status in asked], told["error"], told["took"])


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("agent", AGENTS)
def test_virtual_time_is_as_real_time(agent: str, scenario: str) -> None:
    package = agent.partition(",")[0]
    if importlib.util.find_spec(package) is None or importlib.util.find_spec("anthropic") is None:
        pytest.skip(f"{package} is not installed; pip install {package} to run this")
    module, attribute = AGENTS[agent]
    path = HERE / "scenarios" / f"{scenario}.toml"
    virtual = in_virtual_time(path, getattr(importlib.import_module(module), attribute))
    real = in_real_time(path, module, attribute)
    print(f"{agent} {scenario}\n  virtual: {virtual.line()}\n  real:    {real.line()}")
    assert virtual.statuses == real.statuses
    assert virtual.error.split("'request_id'")[0] == real.error.split("'request_id'")[0]
    for number, (one, other) in enumerate(zip(virtual.gaps, real.gaps, strict=True)):
        # The SDK takes up to a quarter off its waits by chance: 0.5 s, 1 s.
        jitter = 0.25 * 0.5 * 2**number if scenario == "overloaded" else 0
        assert one - jitter - EARLY_S <= other <= one + jitter + LATE_S


async def _once(base_url: str, scenario: str, module: str, attribute: str) -> dict[str, Any]:
    agent = getattr(importlib.import_module(module), attribute)(RealSession(base_url))
    text = next(line for line in Path(scenario).read_text(encoding="utf-8").splitlines() if line.startswith("text = ")).split('"')[1]
    began = time.monotonic()
    try:
        await agent.prompt(text)
        error = ""
    except Exception as caught:
        error = describe_error(caught)
    return {"error": error, "took": time.monotonic() - began}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_once(*sys.argv[1:]))))
