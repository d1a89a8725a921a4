"""What an agent gets of its run: where the API is, what the scenario says, and scripted tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reenact._loop import VirtualLoop
    from reenact._world import OpenRun

BASE_URL = "http://reenact.test"
"""A host that exists in virtual time alone."""


@dataclass(frozen=True)
class ToolResult:
    """What a tool gives the model."""

    content: Any
    is_error: bool

    def block(self, tool_use_id: str) -> dict[str, Any]:
        """The block that answers a tool use."""
        block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": self.content}
        return {**block, "is_error": True} if self.is_error else block


class Session:
    """One run, as its agent sees it."""

    def __init__(self, loop: VirtualLoop, run: OpenRun) -> None:
        self._loop = loop
        self.base_url = BASE_URL
        """The base URL for every client of the Messages API."""
        self.api_key = "none"
        self.model = run.model
        """The model of the scenario."""
        self.max_tokens = run.max_tokens
        self.prompts = [prompt.text for prompt in run.prompts]
        self.tools = run.tools
        """The definitions of the scenario's tools, as a request has them."""

    async def tool(self, tool_use_id: str, name: str, tool_input: object = None) -> ToolResult:
        """Runs a tool of the scenario: it takes the scenario's time and gives the scenario's result."""
        answer = await self._loop.run_tool(tool_use_id, name, tool_input)
        return ToolResult(answer.content, answer.is_error)

    def tool_started(self, tool_use_id: str, name: str) -> None:
        """Says that a tool of the agent's own starts, so that rules about tools are asked."""
        self._loop.note("tool_start", id=tool_use_id, name=name)

    def tool_ended(self, tool_use_id: str, how: str = "ok") -> None:
        """Says that it ended: `ok`, `error` or `stopped`."""
        self._loop.note("tool_end", id=tool_use_id, how=how)
