"""Loops around the official SDK, as people write them."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

from anthropic import Anthropic, AsyncAnthropic

import reenact


class NaiveLoop:
    """Keeps the model's answer before its tools have run: a cancel leaves tool uses without results."""

    def __init__(self, session: reenact.Session) -> None:
        self.session = session
        self.client = AsyncAnthropic(base_url=session.base_url, api_key=session.api_key)
        self.messages: list[Any] = []

    async def ask(self) -> list[Any]:
        """One request: the answer goes into the history as it is. Returns its tool uses."""
        session = self.session
        stream = self.client.messages.stream(model=session.model, max_tokens=1000, messages=self.messages, tools=session.tools)
        async with stream as events:
            answer = await events.get_final_message()
        self.messages.append({"role": "assistant", "content": [block.model_dump(mode="json", exclude_none=True) for block in answer.content]})
        return [block for block in answer.content if block.type == "tool_use"]

    async def prompt(self, text: str) -> None:
        session = self.session
        self.messages.append({"role": "user", "content": text})
        while True:
            uses = await self.ask()
            if not uses:
                return
            results = await asyncio.gather(*(session.tool(use.id, use.name, use.input) for use in uses))
            self.messages.append({"role": "user", "content": [result.block(use.id) for use, result in zip(uses, results, strict=True)]})


class CarefulLoop(NaiveLoop):
    """Closes its tool uses when it is cancelled. A prompt that comes before the cancelled one has unwound finds them open."""

    async def prompt(self, text: str) -> None:
        session = self.session
        self.messages.append({"role": "user", "content": text})
        while True:
            uses = await self.ask()
            if not uses:
                return
            results = {use.id: {"type": "tool_result", "tool_use_id": use.id, "content": "stopped", "is_error": True} for use in uses}

            async def work(use: Any, results: dict[str, Any] = results) -> None:
                results[use.id] = (await session.tool(use.id, use.name, use.input)).block(use.id)

            try:
                await asyncio.gather(*(work(use) for use in uses))
            finally:
                self.messages.append({"role": "user", "content": list(results.values())})


class PersistentLoop(CarefulLoop):
    """Its client asks again five times."""

    def __init__(self, session: reenact.Session) -> None:
        super().__init__(session)
        self.client = self.client.with_options(max_retries=5)


class TalkativeLoop(NaiveLoop):
    """Takes messages of the user while it works."""

    def message(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})


_runs: list[int] = []


class ForgetfulLoop(NaiveLoop):
    """Leaves something in its module from run to run."""

    async def prompt(self, text: str) -> None:
        _runs.append(len(_runs))
        await super().prompt(f"{text} ({_runs[-1]})")


class DrawingLoop(NaiveLoop):
    """Says a number that it has drawn."""

    async def prompt(self, text: str) -> None:
        await super().prompt(f"{text} {random.random()}")


class StuckLoop(NaiveLoop):
    """Waits for what never comes."""

    async def prompt(self, text: str) -> None:
        await super().prompt(text)
        await asyncio.get_running_loop().create_future()


class LeakyLoop(NaiveLoop):
    """Leaves a task behind."""

    async def prompt(self, text: str) -> None:
        self.worker = asyncio.get_running_loop().create_task(asyncio.sleep(3600), name="worker")
        await super().prompt(text)


class SyncLoop:
    """The same with the synchronous client: each prompt has a thread of its own."""

    def __init__(self, session: reenact.Session) -> None:
        self.session = session
        self.client = Anthropic(base_url=session.base_url, api_key=session.api_key)
        self.messages: list[Any] = []

    def prompt(self, text: str) -> None:
        session = self.session
        self.messages.append({"role": "user", "content": text})
        while True:
            stream = self.client.messages.stream(model=session.model, max_tokens=1000, messages=self.messages, tools=session.tools)
            with stream as events:
                answer = events.get_final_message()
            self.messages.append({"role": "assistant", "content": [block.model_dump(mode="json", exclude_none=True) for block in answer.content]})
            uses = [block for block in answer.content if block.type == "tool_use"]
            if not uses:
                return
            results = []
            for use in uses:
                session.tool_started(use.id, use.name)
                time.sleep(0.04)
                session.tool_ended(use.id)
                results.append({"type": "tool_result", "tool_use_id": use.id, "content": "hello"})
            self.messages.append({"role": "user", "content": results})
