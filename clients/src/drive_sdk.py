"""The official Python SDK as a client: asks in the way that the command line names, and prints one line on what came of it."""

import json
import sys

import anthropic

TOOL = {
    "name": "Read",
    "description": "Reads a file",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
}
RESULT = '{"name":"demo"}'
ASK = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 8000,
    "messages": [{"role": "user", "content": "What does package.json say?"}],
    "tools": [TOOL],
}


def whole(client):
    return client.messages.create(**ASK)


def helper(client, messages=ASK["messages"]):
    with client.messages.stream(**{**ASK, "messages": messages}) as stream:
        return stream.get_final_message()


def impatient(client):
    return helper(client.with_options(timeout=1.0))


def iterator(client):
    stop_reason, text = None, ""
    for event in client.messages.create(**ASK, stream=True):
        if event.type == "content_block_delta":
            text += event.delta.text
        elif event.type == "message_delta":
            stop_reason = event.delta.stop_reason
    return stop_reason, text


def tools(client):
    messages = list(ASK["messages"])
    while True:
        message = helper(client, messages)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return message
        messages.append({"role": "assistant", "content": [sent_back(block) for block in message.content]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls]})


def runner(client):
    @anthropic.beta_tool
    def Read(file_path: str) -> str:
        """Reads a file.

        Args:
            file_path: Which.
        """
        return RESULT

    for stream in client.beta.messages.tool_runner(**{**ASK, "tools": [Read]}, stream=True):
        message = stream.get_final_message()
    return message


def sent_back(block):
    return block.model_dump(include={"type", "text", "id", "name", "input"}, exclude_none=True)


def told(came):
    if isinstance(came, tuple):
        stop_reason, text, calls = *came, []
    else:
        stop_reason, calls = came.stop_reason, [block for block in came.content if block.type == "tool_use"]
        text = "".join(block.text for block in came.content if block.type == "text")
    return ", ".join([stop_reason or "no stop reason", as_json(text), *(f"{call.name} {as_json(call.input)}" for call in calls)])


def as_json(value):
    return json.dumps(value, separators=(",", ":"))


def failed(error):
    package = type(error).__module__.split(".")[0]
    name = type(error).__name__ if package == "anthropic" else f"{package}.{type(error).__name__}"
    known = [str(part) for part in (getattr(error, "status_code", None), getattr(error, "type", None)) if part is not None]
    return ", ".join([name, *known])


WAYS = {"whole": whole, "helper": helper, "impatient": impatient, "iterator": iterator, "tools": tools, "runner": runner}

try:
    print("outcome:", told(WAYS[sys.argv[1]](anthropic.Anthropic())))
except Exception as error:
    print("outcome:", failed(error))
