"""Libraries for agents, in Python, as clients: each asks once or runs its loop with one tool, and prints one line on what came of it."""

import asyncio
import json
import os
import sys

MODEL = "claude-sonnet-4-5"
PROMPT = "What does package.json say?"
RESULT = '{"name":"demo"}'


def langchain(loop):
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    @tool
    def Read(file_path: str) -> str:
        """Reads a file."""
        return RESULT

    model = ChatAnthropic(model=MODEL, max_tokens=8000, streaming=True).bind_tools([Read])
    messages = [HumanMessage(PROMPT)]
    while True:
        whole = None
        for chunk in model.stream(messages):
            whole = chunk if whole is None else whole + chunk
        messages.append(whole)
        if not (loop and whole.tool_calls):
            return whole.response_metadata.get("stop_reason"), whole.text
        messages += [ToolMessage(Read.invoke(call["args"]), tool_call_id=call["id"]) for call in whole.tool_calls]


def pydantic_ai(loop):
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel

    agent = Agent(AnthropicModel(MODEL))
    if loop:

        @agent.tool_plain
        def Read(file_path: str) -> str:
            """Reads a file."""
            return RESULT

    async def run():
        text = ""
        async with agent.iter(PROMPT) as agent_run:
            async for node in agent_run:
                if Agent.is_model_request_node(node):
                    async with node.stream(agent_run.ctx) as stream:
                        async for _ in stream:
                            pass
        last = agent_run.result.all_messages()[-1]
        return getattr(last, "finish_reason", None), agent_run.result.output

    return asyncio.run(run())


def litellm(loop):
    # Otherwise it asks for its list of prices over the network, three times.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    parameters = {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}
    tool = {"type": "function", "function": {"name": "Read", "description": "Reads a file", "parameters": parameters}}
    messages = [{"role": "user", "content": PROMPT}]
    while True:
        stream = litellm.completion(model=f"anthropic/{MODEL}", messages=messages, max_tokens=8000, stream=True, tools=[tool])
        choice = litellm.stream_chunk_builder(list(stream), messages=messages).choices[0]
        calls = choice.message.tool_calls or []
        if not (loop and calls):
            return choice.finish_reason, choice.message.content or ""
        messages.append(choice.message.model_dump(include={"role", "content", "tool_calls"}))
        messages += [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls]


def strands(loop):
    from strands import Agent, tool
    from strands.models.anthropic import AnthropicModel

    @tool
    def Read(file_path: str) -> str:
        """Reads a file.

        Args:
            file_path: Which.
        """
        return RESULT

    agent = Agent(model=AnthropicModel(model_id=MODEL, max_tokens=8000), tools=[Read], callback_handler=None)
    result = agent(PROMPT)
    return result.stop_reason, "".join(block.get("text", "") for block in result.message["content"])


def failed(error):
    package = type(error).__module__.split(".")[0]
    status = getattr(error, "status_code", None)
    return ", ".join([f"{package}.{type(error).__name__}", *([str(status)] if status is not None else [])])


LIBRARIES = {"langchain": langchain, "pydantic-ai": pydantic_ai, "litellm": litellm, "strands": strands}

try:
    stop_reason, text = LIBRARIES[sys.argv[1]](sys.argv[2] == "loop")
    print("outcome:", ", ".join([str(stop_reason or "no stop reason"), json.dumps(text)]), flush=True)
except Exception as error:
    print("outcome:", failed(error), flush=True)
