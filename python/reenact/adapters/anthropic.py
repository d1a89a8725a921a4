"""A loop around the official SDK that closes its tool uses when it is cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

from anthropic import AsyncAnthropic

from reenact._session import Session


class AnthropicLoop:
    """Streams an answer, runs its tools side by side, goes on until the model asks for no tool. Its tools are the scenario's."""

    def __init__(self, session: Session, **client_options: Any) -> None:
        self._session = session
        self._client = AsyncAnthropic(base_url=session.base_url, api_key=session.api_key, **client_options)
        self.messages: list[Any] = []

    async def prompt(self, text: str) -> str:
        """One prompt. A cancel ends the task; the tool uses of its last answer get results all the same."""
        session = self._session
        self.messages.append({"role": "user", "content": text})
        while True:
            async with self._client.messages.stream(
                model=session.model, max_tokens=session.max_tokens, messages=self.messages, tools=session.tools  # type: ignore[arg-type]
            ) as stream:
                answer = await stream.get_final_message()
            uses = [block for block in answer.content if block.type == "tool_use"]
            results = {use.id: _stopped(use.id) for use in uses}

            async def work(use: Any, results: dict[str, Any] = results) -> None:
                results[use.id] = (await session.tool(use.id, use.name, use.input)).block(use.id)

            try:
                await asyncio.gather(*(work(use) for use in uses))
            finally:
                self.messages.append({"role": "assistant", "content": [block.model_dump(mode="json", exclude_none=True) for block in answer.content]})
                if uses:
                    self.messages.append({"role": "user", "content": list(results.values())})
            if not uses:
                return "".join(block.text for block in answer.content if block.type == "text")


def _stopped(tool_use_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": "stopped", "is_error": True}
