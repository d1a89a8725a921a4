"""Agents that do what agents should not, or what is hard to make virtual."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from typing import Any

import anyio
import loops

from reenact.adapters.anthropic import AnthropicLoop


class Silent:
    """Answers without asking anything."""

    def __init__(self, session: Any) -> None:
        pass

    async def prompt(self, text: str) -> None:
        return


class SwallowedRefusal(AnthropicLoop):
    """Starts a process, and hides that it may not."""

    async def prompt(self, text: str) -> str:
        with contextlib.suppress(Exception):
            await asyncio.create_subprocess_exec("true")
        return await super().prompt(text)


class Exiting(AnthropicLoop):
    """Ends the process."""

    async def prompt(self, text: str) -> str:
        sys.exit(0)


class DeafLoop(AnthropicLoop):
    """Goes on to its end whatever the user says."""

    async def prompt(self, text: str) -> str:
        task = asyncio.ensure_future(super().prompt(text))
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(task)
        return task.result()


class ClumsyLoop(AnthropicLoop):
    """Has a mistake where it is cancelled."""

    async def prompt(self, text: str) -> str:
        try:
            return await super().prompt(text)
        except asyncio.CancelledError:
            raise AttributeError("no such attribute") from None


class AsyncMessages(AnthropicLoop):
    """Takes messages with a coroutine."""

    async def message(self, text: str) -> None:
        await asyncio.sleep(0)
        self.heard = text


class RaisingMessages(AnthropicLoop):
    """Cannot take messages after all."""

    def message(self, text: str) -> None:
        raise ValueError("not now")


class LosingLoop(loops.NaiveLoop):
    """Says something else than the user."""

    async def prompt(self, text: str) -> None:
        await super().prompt("?")


class ThreadOfLoops(AnthropicLoop):
    """Runs an event loop of its own in a thread."""

    async def prompt(self, text: str) -> str:
        with contextlib.suppress(RuntimeError):
            await asyncio.to_thread(asyncio.run, asyncio.sleep(1))
        return await super().prompt(text)


class CompletedInOrder(AnthropicLoop):
    """Waits for coroutines as they come."""

    async def prompt(self, text: str) -> str:
        order = []

        async def one(number: int) -> int:
            await asyncio.sleep(0)
            return number

        for done in asyncio.as_completed([one(number) for number in range(20)]):
            order.append(await done)
        return await super().prompt(f"{text} {order}")


class Deadlines(AnthropicLoop):
    """Has many deadlines at odd times."""

    async def prompt(self, text: str) -> str:
        for number in range(50):
            with contextlib.suppress(TimeoutError):
                with anyio.fail_after(number * 0.0137 + 1 / 3):
                    await asyncio.sleep(3600)
        return await super().prompt(text)


class Remembering(loops.NaiveLoop):
    """Leaves something in its class that only a cancel changes."""

    cancelled = 0

    async def prompt(self, text: str) -> None:
        try:
            await super().prompt(f"{text}" if Remembering.cancelled < 3 else "?")
        except asyncio.CancelledError:
            Remembering.cancelled += 1
            raise


def locked(session: Any) -> Any:
    """Waits for a lock that was taken outside of the run."""
    lock.acquire(blocking=False)

    def prompt(text: str) -> None:
        lock.acquire()

    return prompt


lock = threading.Lock()
