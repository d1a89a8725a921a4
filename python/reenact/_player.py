"""The user of one run: prompts the agent, cancels it, sends it messages, and says each deed to the world."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from reenact._loop import VirtualLoop
from reenact._session import Session
from reenact._state import US_PER_S
from reenact._world import Act, OpenRun

ERROR_CHARACTERS_MAX = 200

AgentFactory = Callable[[Session], Any]
"""Makes an agent anew for each run. An agent has `prompt(text)`, and perhaps `message(text)`; a function is an agent that has only prompts."""


@dataclass
class Outcome:
    """How one prompt ended."""

    prompt: int
    text: str
    how: str
    """`ok`, `error` or `cancelled`."""
    words: str
    """The error, or nothing."""
    is_after_interrupt: bool
    """Whether an interrupt came before it."""
    is_cancelled: bool = False
    """Whether it was cancelled, whatever came of that."""


class Player:
    """Plays the prompts of a scenario, and what else its user does."""

    def __init__(self, loop: VirtualLoop, run: OpenRun, factory: AgentFactory) -> None:
        self._loop = loop
        self._run = run
        self._factory = factory
        self._agent: Any = None
        self._tasks: dict[asyncio.Task[Any], Outcome] = {}
        self._said = 0
        self._follow_ups: list[str] = []
        self.outcomes: list[Outcome] = []
        self.not_done: list[str] = []
        """What the user should have done and could not."""
        self.problems: list[str] = []
        """What is wrong with the agent's answers to the user."""
        self._messages: set[asyncio.Task[Any]] = set()
        self.has_interfered = False
        loop.on_act = self.act

    @property
    def can_take_messages(self) -> bool:
        """Whether the agent takes messages while it works."""
        return callable(getattr(self._agent, "message", None))

    @property
    def is_working(self) -> bool:
        """Whether a prompt is open."""
        return bool(self._tasks)

    async def play(self) -> None:
        """All prompts of the scenario, one after the other, and those that follow interrupts."""
        made = self._factory(Session(self._loop, self._run))
        self._agent = await made if inspect.isawaitable(made) else made
        for prompt in self._run.prompts:
            await self._wait_until(prompt.at)
            self._begin(prompt.text)
            await self._unwind()
        await self._unwind()

    async def _wait_until(self, at_us: int) -> None:
        if at_us > self._loop.now_us:
            await asyncio.sleep((at_us - self._loop.now_us) / US_PER_S)

    async def _unwind(self) -> None:
        """Waits for all open prompts, and asks what is to follow them."""
        while self._tasks or self._follow_ups:
            if self._tasks:
                await asyncio.wait(list(self._tasks))
                await asyncio.sleep(0)  # the callbacks that note the ends
            else:
                self._begin(self._follow_ups.pop(0))

    def _begin(self, text: str) -> None:
        self._said += 1
        number = self._said
        self._loop.note("prompt", prompt=number, text=text)
        task = self._loop.create_task(self._prompt(text), name=f"prompt {number}")
        outcome = Outcome(number, text, "ok", "", self.has_interfered)
        self._tasks[task] = outcome
        self.outcomes.append(outcome)
        task.add_done_callback(self._end)

    def _tell(self, text: str) -> None:
        """Gives the agent a message. A coroutine of it is a task beside the prompts."""
        try:
            given = self._agent.message(text)
        except Exception as error:
            self.problems.append(f"the agent's `message` raises {describe_error(error)}")
            return
        if inspect.isawaitable(given):
            task = self._loop.create_task(_awaited(given), name="message")
            self._messages.add(task)
            task.add_done_callback(self._end_message)

    def _end_message(self, task: asyncio.Task[Any]) -> None:
        self._messages.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.problems.append(f"the agent's `message` raises {describe_error(error)}")

    async def _prompt(self, text: str) -> Any:
        prompt = getattr(self._agent, "prompt", self._agent)
        if inspect.iscoroutinefunction(inspect.unwrap(prompt)):
            return await prompt(text)
        # A synchronous agent blocks: it gets a thread. A function that only makes a coroutine makes it there.
        given = await self._loop.run_in_executor(None, prompt, text)
        return await given if inspect.isawaitable(given) else given

    def _end(self, task: asyncio.Task[Any]) -> None:
        outcome = self._tasks.pop(task)
        if task.cancelled():
            outcome.how = "cancelled"
        elif (error := task.exception()) is not None:
            outcome.how, outcome.words = "error", describe_error(error)
        how = "stopped" if outcome.how == "cancelled" else outcome.how
        self._loop.note("terminal", prompt=outcome.prompt, how=how, text=outcome.words)

    def act(self, act: Act) -> None:
        """The user does something now."""
        boundary = act.boundary or self._loop.boundary
        if act.kind == "message" and not self.can_take_messages:
            self.not_done.append(f"a message at {boundary}: the agent has no method `message`")
            return
        if act.kind == "cancel" and not self._tasks:
            self.not_done.append(f"a cancel at {boundary}: no prompt is open")
            return
        self.has_interfered = True
        self._loop.note("boundary", boundary=boundary)
        if act.kind == "message":
            self._loop.note("message", text=act.text or "")
            self._tell(act.text or "")
        else:
            self._loop.note("cancel")
            for task, outcome in list(self._tasks.items()):
                outcome.is_cancelled = True
                task.cancel()
        if act.then is not None:
            if act.at_once:
                self._begin(act.then)
            else:
                self._follow_ups.append(act.then)


async def _awaited(given: Awaitable[Any]) -> Any:
    return await given


def describe_error(error: BaseException) -> str:
    """One line: the type and the beginning of its words."""
    words = str(error).strip().splitlines()
    if not words:
        return type(error).__name__
    shown = words[0] if len(words[0]) <= ERROR_CHARACTERS_MAX else words[0][:ERROR_CHARACTERS_MAX] + "…"
    return f"{type(error).__name__}: {shown}"

