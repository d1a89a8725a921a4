"""The program `reenact world`: one process for many runs, JSON lines over pipes.

A line without a reply is kept in the buffer and goes out with the next line that has one, so a note costs no round trip.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from reenact._errors import WorldError

PROTOCOL = 1
PROGRAM_VARIABLE = "REENACT_PROGRAM"

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


@dataclass(slots=True)
class Act:
    """What the user does: at a time, or at a boundary."""

    kind: str
    at: int | None = None
    boundary: str | None = None
    text: str | None = None
    then: str | None = None
    """The prompt that follows it."""
    at_once: bool = False
    """Whether that prompt begins before the interrupted one has come to its end."""


@dataclass(slots=True)
class Prompt:
    """What the user says, and when at the earliest."""

    at: int
    text: str


@dataclass(slots=True)
class Head:
    """The head of an answer."""

    at: int
    status: int
    headers: list[tuple[str, str]]


@dataclass(slots=True)
class Piece:
    """A part of the body of an answer."""

    at: int
    data: bytes


@dataclass(slots=True)
class End:
    """How an answer ends: `complete`, `close`, `reset`, `refused`, `dns`, `tls`, `broken_pipe`."""

    at: int
    how: str


@dataclass(slots=True)
class Answer:
    """The whole answer to a request, each part with its time."""

    number: int
    name: str | None
    head: Head | None
    pieces: list[Piece]
    end: End | None
    acts: list[Act]


@dataclass(slots=True)
class ToolAnswer:
    """What a scripted tool gives; `ends_at` is None for one that hangs."""

    ends_at: int | None
    content: str
    is_error: bool
    progress: list[tuple[int, str]]
    acts: list[Act]


@dataclass(slots=True)
class Verdict:
    """What the world says of a whole run."""

    is_fine: bool
    failures: list[str]
    violations: list[dict[str, Any]]
    rules_asked: list[str]
    """The rules that were asked of the run: `O-1`."""
    rules_not_asked: dict[str, list[str]]
    """The others, by what they need."""
    faulted_prompts: list[int]
    """The prompts that were open when a fault hit: these may fail."""
    remarks: list[str]
    unused: list[str]
    requests: list[Any]
    digest: str
    transcript: str | None
    plan: str
    raw: dict[str, Any]


def find_program() -> list[str]:
    """The command that starts the program, without its arguments."""
    named = os.environ.get(PROGRAM_VARIABLE)
    if named:
        if not os.path.exists(named) and shutil.which(named) is None:
            raise WorldError(f"{PROGRAM_VARIABLE} names {named!r}, which does not exist; set it to the program `reenact`")
        return [sys.executable, named] if named.endswith(".py") else [named]
    beside = Path(sys.executable).with_name("reenact")
    if beside.is_file():
        return [str(beside)]
    on_path = shutil.which("reenact")
    if on_path:
        return [on_path]
    raise WorldError(
        f"the program `reenact` was found neither beside {sys.executable} nor on PATH; "
        f"install it with `pip install reenact`, or set {PROGRAM_VARIABLE} to its path"
    )


def opening(
    scenario: str | os.PathLike[str], seed: int | None, settings: Mapping[str, str] | None, without: Sequence[str]
) -> dict[str, Any]:
    """The members of a line that opens runs of a scenario."""
    line: dict[str, Any] = {"protocol": PROTOCOL, "scenario": os.fspath(scenario)}
    if seed is not None:
        line["seed"] = seed
    if settings:
        line["set"] = dict(settings)
    if without:
        line["without"] = list(without)
    return line


class World:
    """A running `reenact world`."""

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = [*(command or find_program()), "world"]
        try:
            # In a session of its own Ctrl-C does not reach it: what it has found would be lost. It ends with its standard input.
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise WorldError(f"`{' '.join(self._command)}` cannot be started: {error}") from error
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self.is_broken = False
        """Whether it can be asked nothing more."""
        self._write = process.stdin.write
        self._flush = process.stdin.flush
        self._read = process.stdout.readline
        atexit.register(self.close)

    def open(
        self,
        scenario: str | os.PathLike[str],
        *,
        seed: int | None = None,
        settings: Mapping[str, str] | None = None,
        plan: str | None = None,
        without: Sequence[str] = (),
        trace: bool = False,
    ) -> OpenRun:
        """Opens a run of a scenario. With `trace` the verdict has what an exploration must know of the run."""
        line = opening(scenario, seed, settings, without)
        if plan is not None:
            line["plan"] = plan
        if trace:
            line["trace"] = True
        return OpenRun(self, self.ask({"op": "open", **line}))

    def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        """Sends a line and waits for its reply."""
        try:
            self._write(_encode(line).encode("utf-8", "replace") + b"\n")
            self._flush()
            reply = self._read()
        except (OSError, ValueError) as error:
            self.is_broken = True
            raise WorldError(f"`{' '.join(self._command)}` has ended: {error}") from error
        except BaseException:
            self.is_broken = True  # the reply to this line is still to come: nobody may take it for another's
            raise
        if not reply:
            status = self._process.poll()
            raise WorldError(f"`{' '.join(self._command)}` has ended (exit status {status}); see what it wrote above")
        answer: dict[str, Any] = json.loads(reply)
        if "error" in answer:
            raise WorldError(str(answer["error"]))
        return answer

    def tell(self, line: dict[str, Any]) -> None:
        """Sends a line that has no reply, with the next one that has."""
        try:
            self._write(_encode(line).encode("utf-8", "replace") + b"\n")
        except (OSError, ValueError) as error:
            self.is_broken = True
            raise WorldError(f"`{' '.join(self._command)}` has ended: {error}") from error

    def close(self) -> None:
        """Ends the program."""
        process = self._process
        atexit.unregister(self.close)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> World:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()


class OpenRun:
    """A run of the world. Times are microseconds of the run; `seen` counts the events of the world that were delivered."""

    def __init__(self, world: World, reply: dict[str, Any]) -> None:
        self._world = world
        self.on_request: Callable[[int, str, str, Sequence[tuple[str, str]], str | dict[str, str]], object] | None = None
        """Hears of each request before it is sent."""
        self.number: int = reply["run"]
        self.seed: int = reply.get("seed", 0)
        self.title: str = reply.get("title") or ""
        self.model: str = reply.get("model", "")
        self.max_tokens: int = reply.get("max_tokens", 0)
        self.prompts = [Prompt(prompt["at"], prompt["text"]) for prompt in reply.get("prompts", [])]
        self.tools: list[dict[str, Any]] = reply.get("tools", [])
        self.interrupts = _acts(reply.get("interrupts"))
        self.watches = frozenset(str(watch) for watch in reply.get("watches", []))
        self.warnings: list[str] = reply.get("warnings", [])

    def request(self, at: int, seen: int, method: str, path: str, headers: Sequence[tuple[str, str]], body: str | dict[str, str]) -> Answer:
        """Asks what the API answers."""
        if self.on_request is not None:
            self.on_request(at, method, path, headers, body)
        reply = self._world.ask(
            {
                "op": "request",
                "run": self.number,
                "at": at,
                "seen": seen,
                "method": method,
                "path": path,
                "headers": headers,
                "body": body,
            }
        )
        head, end = reply["head"], reply["end"]
        return Answer(
            reply["answer"],
            reply.get("name"),
            None if head is None else Head(head["at"], head["status"], [(name, value) for name, value in head["headers"]]),
            [Piece(piece_at, _bytes_of(data)) for piece_at, data in reply["pieces"]],
            None if end is None else End(end["at"], end["how"]),
            _acts(reply.get("acts")),
        )

    def closed(self, at: int, seen: int, answer: int) -> None:
        """Says that the client closed the connection of an answer before its end."""
        self._world.tell({"op": "closed", "run": self.number, "at": at, "seen": seen, "answer": answer})

    def tool(self, at: int, seen: int, tool_id: str, name: str, tool_input: object) -> ToolAnswer:
        """Asks what a scripted tool gives."""
        reply = self._world.ask({"op": "tool", "run": self.number, "at": at, "seen": seen, "id": tool_id, "name": name, "input": tool_input})
        return ToolAnswer(
            reply["ends_at"],
            reply["content"],
            reply.get("is_error", False),
            [(progress_at, text) for progress_at, text in reply.get("progress", [])],
            _acts(reply.get("acts")),
        )

    def note(self, at: int, seen: int, kind: str, **members: object) -> list[Act]:
        """Says what the client did; waits for a reply only where the scenario watches for this kind of note."""
        line = {"op": "note", "run": self.number, "at": at, "seen": seen, "kind": kind, **members}
        watch = "terminals" if kind == "terminal" else "tools" if kind in ("tool_start", "tool_end") else ""
        if watch in self.watches:
            return _acts(self._world.ask({**line, "reply": True}).get("acts"))
        self._world.tell(line)
        return []

    def end(self, at: int, seen: int, *, transcript: bool = False) -> Verdict:
        """Ends the run and asks for the verdict."""
        raw = self._world.ask({"op": "end", "run": self.number, "at": at, "seen": seen, "transcript": transcript})
        return Verdict(
            raw["is_fine"],
            raw.get("failures", []),
            raw.get("violations", []),
            raw.get("rules", {}).get("asked", []),
            raw.get("rules", {}).get("not_asked", {}),
            raw.get("faulted_prompts", []),
            raw.get("remarks", []),
            raw.get("unused", []),
            raw.get("requests", []),
            raw.get("digest", ""),
            raw.get("transcript"),
            raw.get("plan", ""),
            raw,
        )


def _acts(acts: list[dict[str, Any]] | None) -> list[Act]:
    if not acts:
        return []
    return [
        Act(act["kind"], act.get("at"), act.get("boundary"), act.get("text"), act.get("then"), act.get("at_once", False))
        for act in acts
    ]


def _bytes_of(data: str | dict[str, str]) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else base64.b64decode(data["base64"])
