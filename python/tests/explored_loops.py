"""Loops with defects that no run shows as it is, nor any interrupt of it: they need a fault, another order, or a fault and an interrupt."""

from __future__ import annotations

import asyncio
import os
from typing import Any, ClassVar

from anthropic import APIError
from loops import CarefulLoop, NaiveLoop


class ImpatientLoop(CarefulLoop):
    """Asks again as soon as the last tool has ended, and takes the results that are there."""

    async def prompt(self, text: str) -> None:
        session = self.session
        self.messages.append({"role": "user", "content": text})
        while True:
            uses = await self.ask()
            if not uses:
                return
            results: dict[str, Any] = {}

            async def work(use: Any, results: dict[str, Any] = results) -> None:
                results[use.id] = (await session.tool(use.id, use.name, use.input)).block(use.id)

            tasks = [asyncio.ensure_future(work(use)) for use in uses]
            try:
                await tasks[-1]
            finally:
                for task in tasks:
                    task.cancel()
                if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                    stopped = {"type": "tool_result", "content": "stopped", "is_error": True}
                    results = {use.id: results.get(use.id, {**stopped, "tool_use_id": use.id}) for use in uses}
                self.messages.append({"role": "user", "content": list(results.values())})


class RollbackLoop(CarefulLoop):
    """Takes the last message back when a request fails: the prompt, but also the results of tools."""

    async def ask(self) -> list[Any]:
        try:
            return await super().ask()
        except APIError:
            self.messages.pop()
            raise


class WaitingLoop(CarefulLoop):
    """Asks again by itself after an overload. While it waits, the last message is taken out of the history, and a cancel loses it."""

    async def ask(self) -> list[Any]:
        for attempt in range(3):
            try:
                return await NaiveLoop.ask(self)
            except APIError as error:
                if getattr(error, "status_code", None) != 529 or len(self.messages) < 3 or attempt == 2:
                    raise
                last = self.messages.pop()
                await asyncio.sleep(1)
                self.messages.append(last)
        raise AssertionError


class StubbornLoop(CarefulLoop):
    """Asks again for ever."""

    async def ask(self) -> list[Any]:
        while True:
            try:
                return await NaiveLoop.ask(self)
            except APIError:
                await asyncio.sleep(1)


class PatientLoop(CarefulLoop):
    """The client does not ask again by itself, so that each fault is one request."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.client = self.client.with_options(max_retries=0)


class WaitingLoopWithoutRetries(WaitingLoop, PatientLoop):
    """The same, where no other retry comes before."""


class StainedLoop(CarefulLoop):
    """A failure of one run spoils all later runs of the process."""

    stains: ClassVar[list[str]] = []

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.is_stained = bool(self.stains)

    async def prompt(self, text: str) -> None:
        if self.is_stained:
            raise ValueError("stained")
        try:
            await super().prompt(text)
        except APIError:
            self.stains.append(text)
            raise


class ExitingLoop(CarefulLoop):
    """Ends the process at a failure."""

    async def prompt(self, text: str) -> None:
        try:
            await super().prompt(text)
        except APIError:
            os._exit(0)
