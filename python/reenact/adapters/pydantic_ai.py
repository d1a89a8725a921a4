"""pydantic-ai: a prompt is a run of the agent, and the next request begins with the messages that the run before has left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anthropic import AsyncAnthropic
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from reenact._session import Session


class PydanticAiAgent:
    """An agent of yours, with the model of the scenario. `make` gets the model and the session, and gives the agent."""

    def __init__(self, session: Session, make: Callable[[AnthropicModel, Session], Agent[Any, Any]]) -> None:
        client = AsyncAnthropic(base_url=session.base_url, api_key=session.api_key)
        self._agent = make(AnthropicModel(session.model, provider=AnthropicProvider(anthropic_client=client)), session)
        self.history: list[Any] = []

    async def prompt(self, text: str) -> Any:
        """One prompt. What a cancelled run has said so far is kept, as a chat program keeps it."""
        with capture_run_messages() as messages:
            try:
                return (await self._agent.run(text, message_history=self.history)).output
            finally:
                self.history = list(messages) or self.history
