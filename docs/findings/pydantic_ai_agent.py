"""pydantic-ai with the scenario's tool, cancelled as a chat program cancels it: what the run has said so far is the history of the next."""

from pydantic_ai import Agent, RunContext

from reenact.adapters.pydantic_ai import PydanticAiAgent


def make(model, session):
    agent = Agent(model)

    @agent.tool
    async def Read(context: RunContext, file_path: str) -> str:
        """Reads a file."""
        return (await session.tool(context.tool_call_id, "Read", {"file_path": file_path})).content

    return agent


def agent(session):
    return PydanticAiAgent(session, make)
