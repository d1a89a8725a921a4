"""A small stand-in for `reenact world`, for tests: it speaks the protocol and answers from a few fixed scripts.

The name of the scenario says what happens: `two_tools` (two requests, two tools), and with a suffix what goes wrong with the first answers:
`two_tools.overloaded` (529 twice), `.cut`, `.close`, `.reset`, `.stall`, `.refused`, `.silent`, `.no_stop`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

HEAD_DELAY_US = 300_000
PIECE_EVERY_US = 20_000
TOOL_US = 40_000


def sse(kind: str, data: dict[str, Any]) -> str:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"


def blocks_of_turn(turn: int) -> list[dict[str, Any]]:
    """What the model says: two tool uses, then a text."""
    if turn > 0:
        return [{"type": "text", "text": "Both files say hello."}]
    return [
        {"type": "text", "text": "I will read both files."},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
        {"type": "tool_use", "id": "toolu_2", "name": "read_file", "input": {"path": "b.txt"}},
    ]


def message_of(number: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """A message as the API gives it when it does not stream."""
    reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 20},
    }


def pieces_of(number: int, blocks: list[dict[str, Any]]) -> list[str]:
    """The same message as the pieces of a stream."""
    message = message_of(number, blocks)
    pieces = [sse("message_start", {"message": {**message, "content": [], "stop_reason": None}})]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            pieces.append(sse("content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}}))
            words = block["text"].split(" ")
            for word in [f"{word} " for word in words[:-1]] + words[-1:]:
                pieces.append(sse("content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": word}}))
        else:
            pieces.append(sse("content_block_start", {"index": index, "content_block": {**block, "input": {}}}))
            text = json.dumps(block["input"])
            for part in (text[:4], text[4:]):
                pieces.append(sse("content_block_delta", {"index": index, "delta": {"type": "input_json_delta", "partial_json": part}}))
        pieces.append(sse("content_block_stop", {"index": index}))
    pieces.append(sse("message_delta", {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": 20}}))
    pieces.append(sse("message_stop", {}))
    return pieces


class StubRun:
    """One open run."""

    def __init__(self, scenario: str) -> None:
        self.trouble = scenario.partition(".")[2]
        self.answers = 0
        self.lines: list[str] = []

    def answer(self, line: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request."""
        self.answers += 1
        number, at = self.answers, line["at"]
        body = json.loads(line["body"]) if isinstance(line["body"], str) and line["body"] else {}
        at += HEAD_DELAY_US
        reply: dict[str, Any] = {"answer": number, "name": str(number), "acts": [], "pieces": []}
        first = number == 1
        if self.trouble == "overloaded" and number <= 2:
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            head = {"at": at, "status": 529, "headers": [["content-type", "application/json"]]}
            return {**reply, "head": head, "pieces": [[at, json.dumps(error)]], "end": {"at": at, "how": "complete"}}
        if first and self.trouble == "refused":
            return {**reply, "head": None, "end": {"at": at, "how": "refused"}}
        if first and self.trouble == "silent":
            return {**reply, "head": None, "end": None}
        turn = sum(1 for message in body.get("messages", []) if message["role"] == "assistant")
        blocks = blocks_of_turn(turn)
        kind = "text/event-stream" if body.get("stream") else "application/json"
        head = {"at": at, "status": 200, "headers": [["content-type", kind], ["request-id", f"req_{number}"]]}
        texts = pieces_of(number, blocks) if body.get("stream") else [json.dumps(message_of(number, blocks))]
        if self.trouble == "no_stop" and first:
            texts = texts[:-2]
        pieces: list[list[Any]] = [[at + index * PIECE_EVERY_US, text] for index, text in enumerate(texts)]
        end: dict[str, Any] | None = {"at": pieces[-1][0], "how": "complete"}
        if first and self.trouble in ("cut", "close", "reset", "stall"):
            pieces = pieces[: len(pieces) // 2]
            if self.trouble == "cut":
                pieces[-1][1] = pieces[-1][1][:20]
            hows = {"cut": "close", "close": "close", "reset": "reset"}
            how = hows.get(self.trouble)
            end = None if how is None else {"at": pieces[-1][0] + PIECE_EVERY_US, "how": how}
        return {**reply, "head": head, "pieces": pieces, "end": end}


def handle(runs: dict[int, StubRun], line: dict[str, Any]) -> dict[str, Any] | None:
    """The reply to a line, or None where it has none."""
    kind = line["op"]
    if kind == "open":
        if not line["scenario"].startswith("two_tools"):
            return {"error": f"there is no scenario {line['scenario']!r}"}
        number = len(runs) + 1
        runs[number] = StubRun(line["scenario"])
        return {
            "run": number,
            "protocol": 1,
            "title": "Two tools",
            "model": "claude-sonnet-4-5",
            "max_tokens": 1000,
            "prompts": [{"at": 0, "text": "What do the files say?"}],
            "tools": [],
            "interrupts": [],
            "watches": [],
            "warnings": [],
        }
    run = runs[line["run"]]
    run.lines.append(json.dumps({name: value for name, value in line.items() if name != "run"}, sort_keys=True))
    if kind == "request":
        return run.answer(line)
    if kind == "tool":
        return {"ends_at": line["at"] + TOOL_US, "content": "hello", "is_error": False, "progress": [], "acts": []}
    if kind == "end":
        transcript = "\n".join(run.lines)
        digest = hashlib.sha256(transcript.encode()).hexdigest()
        return {"is_fine": True, "digest": digest, "transcript": transcript if line.get("transcript") else None, "plan": ""}
    if kind in ("note", "closed"):
        return {"acts": []} if line.get("reply") else None
    return {"error": f"there is no op {kind!r}"}


def main() -> None:
    """Answers lines till the input ends."""
    runs: dict[int, StubRun] = {}
    for text in sys.stdin:
        reply = handle(runs, json.loads(text))
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
