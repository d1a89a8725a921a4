"""Small agents, written as users write them: nothing in them knows of virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

BASE_URL = "http://api.example"
PROMPT = "What do the files say?"
TOOLS: list[dict[str, Any]] = [
    {
        "name": "read_file",
        "description": "Reads a file.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
]


async def run_tool(path: str) -> str:
    """A tool that takes some time."""
    await asyncio.sleep(0.05)
    return f"hello from {path}"


async def anthropic_agent(**options: Any) -> str:
    """The usual loop around the SDK: stream, run the tools side by side, go on."""
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(api_key="k", base_url=BASE_URL, **options) as client:
        messages: list[Any] = [{"role": "user", "content": PROMPT}]
        while True:
            async with client.messages.stream(model="claude-sonnet-4-5", max_tokens=1000, messages=messages, tools=TOOLS) as stream:
                message = await stream.get_final_message()
            messages.append({"role": "assistant", "content": [block.model_dump(mode="json", exclude_none=True) for block in message.content]})
            uses = [block for block in message.content if block.type == "tool_use"]
            if not uses:
                return "".join(block.text for block in message.content if block.type == "text")
            results = await asyncio.gather(*(run_tool(use.input["path"]) for use in uses))
            content = [{"type": "tool_result", "tool_use_id": use.id, "content": result} for use, result in zip(uses, results, strict=True)]
            messages.append({"role": "user", "content": content})


def anthropic_agent_sync(**options: Any) -> str:
    """The same, synchronous: it runs in a thread."""
    import time

    from anthropic import Anthropic

    with Anthropic(api_key="k", base_url=BASE_URL, **options) as client:
        messages: list[Any] = [{"role": "user", "content": PROMPT}]
        while True:
            with client.messages.stream(model="claude-sonnet-4-5", max_tokens=1000, messages=messages, tools=TOOLS) as stream:
                message = stream.get_final_message()
            messages.append({"role": "assistant", "content": [block.model_dump(mode="json", exclude_none=True) for block in message.content]})
            uses = [block for block in message.content if block.type == "tool_use"]
            if not uses:
                return "".join(block.text for block in message.content if block.type == "text")
            content = []
            for use in uses:
                time.sleep(0.05)
                content.append({"type": "tool_result", "tool_use_id": use.id, "content": f"hello from {use.input['path']}"})
            messages.append({"role": "user", "content": content})


async def httpx_agent() -> str:
    """One plain request, without any SDK."""
    import httpx

    async with httpx.AsyncClient(base_url=BASE_URL) as client:
        reply = await client.post("/v1/messages", json={"messages": [{"role": "user", "content": PROMPT}]})
        return str(reply.json()["stop_reason"])


async def pydantic_ai_agent() -> str:
    """pydantic-ai with one tool."""
    from anthropic import AsyncAnthropic
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    async with AsyncAnthropic(api_key="k", base_url=BASE_URL) as client:
        agent = Agent(AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(anthropic_client=client)))

        @agent.tool_plain
        async def read_file(path: str) -> str:
            """Reads a file."""
            return await run_tool(path)

        result = await agent.run(PROMPT)
        return str(result.output)


async def langgraph_agent() -> str:
    """A LangGraph agent over langchain-anthropic with one tool."""
    from langchain_anthropic import ChatAnthropic
    from langchain_core.tools import tool
    from langgraph.prebuilt import create_react_agent

    @tool
    async def read_file(path: str) -> str:
        """Reads a file."""
        return await run_tool(path)

    model = ChatAnthropic(model="claude-sonnet-4-5", api_key="k", base_url=BASE_URL)  # type: ignore[call-arg]
    graph = create_react_agent(model, [read_file])
    result = await graph.ainvoke({"messages": [("user", PROMPT)]})
    return str(result["messages"][-1].content)


async def aiohttp_agent() -> str:
    """One plain request with aiohttp."""
    import aiohttp

    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{BASE_URL}/v1/messages", json={"stream": True, "messages": [{"role": "user", "content": PROMPT}]}) as reply,
    ):
        text = await reply.text()
        return str(text.count("event: "))


def requests_agent() -> str:
    """One plain request with requests, in a thread."""
    import requests

    with requests.Session() as session:
        reply = session.post(f"{BASE_URL}/v1/messages", json={"messages": [{"role": "user", "content": PROMPT}]})
        return str(reply.json()["stop_reason"])


async def drawing_agent() -> str:
    """Puts all that is usually different from run to run into what it sends: a canary for each cure."""
    import datetime
    import os
    import random
    import time
    import uuid

    names = []
    for _ in range(2):
        tasks = {asyncio.create_task(asyncio.sleep(0.001 * number), name=f"t{number}") for number in range(12)}
        done, _ = await asyncio.wait(tasks)
        names += [task.get_name() for task in done]
    drawn = {
        "random": random.random(),
        "generator": random.Random().random(),
        "uuid4": str(uuid.uuid4()),
        "uuid1": str(uuid.uuid1()),
        "urandom": os.urandom(4).hex(),
        "time": time.time(),
        "date": str(datetime.datetime.now()),
        "tasks": names,
    }
    reader, writer = await asyncio.open_connection("api.example", 80)
    import json

    body = json.dumps({"messages": [], "drawn": drawn}).encode()
    writer.write(b"POST /v1/messages HTTP/1.1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body))
    data = await reader.read()
    writer.close()
    return str(len(data))
