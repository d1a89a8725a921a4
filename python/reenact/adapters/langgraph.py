"""LangGraph: a prompt is one invocation of a graph with a checkpointer, and the next one continues the same thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_anthropic import ChatAnthropic

from reenact._session import Session


class LangGraphAgent:
    """A graph of yours, with the model of the scenario. `make` gets the model and the session, and gives the compiled graph with its checkpointer."""

    def __init__(self, session: Session, make: Callable[[ChatAnthropic, Session], Any]) -> None:
        model = ChatAnthropic(
            model_name=session.model, base_url=session.base_url, api_key=session.api_key, max_tokens_to_sample=session.max_tokens  # type: ignore[call-arg,arg-type]
        )
        self._graph = make(model, session)
        self._config = {"configurable": {"thread_id": "1"}}

    async def prompt(self, text: str) -> Any:
        """One prompt. What a cancelled invocation has checkpointed stays in the thread."""
        state = await self._graph.ainvoke({"messages": [("user", text)]}, self._config)
        return state["messages"][-1].content
