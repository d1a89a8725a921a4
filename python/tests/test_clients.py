"""Real clients, unmodified: what they see is what they see on a network."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

import agents
from conftest import Runner, needs
from reenact._loop import VirtualLoop

pytestmark = pytest.mark.filterwarnings("ignore")


def _requests(runner: Runner) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, runner.transcript) if line["op"] == "request"]


def _header(request: dict[str, Any], name: str) -> str | None:
    return next((value for header, value in request["headers"] if header.lower() == name), None)


@needs("anthropic")
@pytest.mark.parametrize("is_sync", [False, True])
def test_the_sdk_runs_two_requests_and_two_tools(runner: Runner, is_sync: bool) -> None:
    if is_sync:
        outcome = runner.thread(agents.anthropic_agent_sync)
        end_us = 1_200_000  # one tool after the other
    else:
        outcome = runner.agent(agents.anthropic_agent)
        end_us = 1_150_000
    assert outcome.exception is None
    assert outcome.value == "Both files say hello."
    assert outcome.ended_at == end_us
    assert (outcome.left_tasks, outcome.open_connections, outcome.idle_connections, outcome.refusals) == ([], [], 0, [])
    bodies = [json.loads(request["body"]) for request in _requests(runner)]
    results = bodies[1]["messages"][2]["content"]
    assert [result["content"] for result in results] == ["hello from a.txt", "hello from b.txt"]


@needs("anthropic")
def test_retries_wait_in_virtual_time(runner: Runner) -> None:
    outcome = runner.agent(agents.anthropic_agent, "two_tools.overloaded")
    assert outcome.value == "Both files say hello."
    requests = _requests(runner)
    assert [_header(request, "x-stainless-retry-count") for request in requests] == ["0", "1", "2", "0"]
    gaps = [(later["at"] - earlier["at"] - 300_000) / 1e6 for earlier, later in itertools.pairwise(requests)]
    assert 0.375 <= gaps[0] <= 0.5  # 0.5 s, less up to a quarter
    assert 0.75 <= gaps[1] <= 1.0
    again = runner.agent(agents.anthropic_agent, "two_tools.overloaded")
    assert again.ended_at == outcome.ended_at


@needs("anthropic")
@pytest.mark.parametrize("is_sync", [False, True])
@pytest.mark.parametrize(
    ("trouble", "requests", "error"),
    [
        ("cut", 1, "RemoteProtocolError"),
        ("close", 1, "RemoteProtocolError"),
        ("reset", 1, "ReadError"),
        ("refused", 3, None),
        ("no_stop", 1, None),
    ],
)
def test_troubles_look_as_on_a_network(runner: Runner, trouble: str, requests: int, error: str | None, is_sync: bool) -> None:
    scenario = f"two_tools.{trouble}"
    outcome = runner.thread(agents.anthropic_agent_sync, scenario) if is_sync else runner.agent(agents.anthropic_agent, scenario)
    assert (None if outcome.exception is None else type(outcome.exception).__name__) == error
    made = _requests(runner)
    if trouble == "refused":
        assert [_header(request, "x-stainless-retry-count") for request in made] == ["0", "1", "0"]
        assert outcome.value == "Both files say hello."
    elif trouble == "no_stop":
        assert len(made) == 2  # a clean end without message_stop is a silent success
    else:
        assert len(made) == requests


@needs("anthropic")
@pytest.mark.parametrize("is_sync", [False, True])
@pytest.mark.parametrize(("trouble", "requests"), [("stall", 1), ("silent", 3)])
def test_a_client_s_timeout_ends_silence(runner: Runner, trouble: str, requests: int, is_sync: bool) -> None:
    scenario = f"two_tools.{trouble}"
    if is_sync:
        outcome = runner.thread(lambda: agents.anthropic_agent_sync(timeout=1.0), scenario)
    else:
        outcome = runner.agent(lambda: agents.anthropic_agent(timeout=1.0), scenario)
    made = _requests(runner)
    closed = [json.loads(line) for line in runner.transcript if '"closed"' in line]
    assert [line["answer"] for line in closed] == [1]
    if trouble == "stall":
        assert type(outcome.exception).__name__ == "ReadTimeout"
        assert len(made) == 1
        assert closed[0]["at"] == 300_000 + 8 * 20_000 + 1_000_000  # one second after the last piece
    else:
        assert outcome.value == "Both files say hello."
        assert len(made) == requests
        assert closed[0]["at"] == 1_000_000


@needs("anthropic")
def test_a_cancel_at_a_boundary(runner: Runner) -> None:
    async def main(loop: VirtualLoop) -> str:
        task = asyncio.ensure_future(agents.anthropic_agent())
        loop.at_boundary("answer 1 piece 5 + 0", task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return f"cancelled at {loop.now_us}"

    outcome = runner.run(main)
    assert outcome.value == "cancelled at 380000"
    assert [json.loads(line)["seen"] for line in runner.transcript if '"closed"' in line] == [6]
    assert outcome.left_tasks == []


@pytest.mark.parametrize(
    ("agent", "value"),
    [
        pytest.param(agents.httpx_agent, "tool_use", marks=needs("httpx")),
        pytest.param(agents.aiohttp_agent, "18", marks=needs("aiohttp")),
        pytest.param(agents.pydantic_ai_agent, "Both files say hello.", marks=needs("pydantic_ai", "anthropic")),
        pytest.param(agents.langgraph_agent, "Both files say hello.", marks=needs("langgraph", "langchain_anthropic")),
    ],
)
def test_other_clients_and_frameworks(runner: Runner, agent: Callable[[], Any], value: str) -> None:
    outcomes = [runner.agent(agent) for _ in range(2)]
    assert [outcome.value for outcome in outcomes] == [value, value]
    assert outcomes[0].ended_at == outcomes[1].ended_at
    assert outcomes[0].boundaries_count == outcomes[1].boundaries_count


@needs("requests")
def test_requests_in_a_thread(runner: Runner) -> None:
    assert runner.thread(agents.requests_agent).value == "tool_use"
