"""Two graphs of LangGraph with a checkpointer: the one that comes with it, and two nodes as the tutorials have them."""

from typing import Annotated

from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition

from reenact.adapters.langgraph import LangGraphAgent


def tools_of(session):
    @tool
    async def Read(file_path: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Reads a file."""
        return (await session.tool(tool_call_id, "Read", {"file_path": file_path})).content

    return [Read]


def prebuilt(session):
    return LangGraphAgent(session, lambda model, session: create_react_agent(model, tools_of(session), checkpointer=InMemorySaver()))


def own(session):
    def make(model, session):
        tools = tools_of(session)

        async def call_model(state: MessagesState):
            return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", call_model)
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge("__start__", "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        return graph.compile(checkpointer=InMemorySaver())

    return LangGraphAgent(session, make)
