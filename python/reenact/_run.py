"""One run of an agent in virtual time, and the verdict on it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reenact._errors import DeadlockError, FailedRunError, LivelockError, ReenactError
from reenact._harness import LoopOutcome, run_in_world
from reenact._loop import REQUESTS_MAX, VirtualLoop
from reenact._plan import scenario_in, seed_in
from reenact._player import AgentFactory, Outcome, Player
from reenact._world import Act, OpenRun, Verdict, World

BROKE_OFF = "the run broke off: "

_worlds: dict[int, World] = {}
_running = threading.Lock()


def shared_world() -> World:
    """The program of this process: one for all runs."""
    world = _worlds.get(os.getpid())
    if world is not None and world.is_broken:
        world.close()
        world = None
    if world is None:
        _worlds.clear()  # those of a parent are not ours to close
        world = _worlds[os.getpid()] = World()
    return world


@dataclass(frozen=True)
class BoundaryPassed:
    """A place at which the agent can be interrupted."""

    name: str
    at_us: int
    is_working: bool
    """Whether a prompt was open."""


@dataclass
class Run:
    """What came of a run."""

    scenario: str
    seed: int
    verdict: Verdict
    outcomes: list[Outcome] = field(default_factory=list)
    """How each prompt ended."""
    boundaries: list[BoundaryPassed] = field(default_factory=list)
    """Where the agent could have been interrupted; empty unless it was asked for."""
    requests: list[str] = field(default_factory=list)
    """Each request in words, for comparing two runs; empty unless it was asked for."""
    not_done: list[str] = field(default_factory=list)
    """What the user should have done and could not."""
    can_take_messages: bool = False
    problems: list[str] = field(default_factory=list)
    """What is wrong beside the verdict: calls that were refused, errors that nobody caught."""

    @property
    def transcript(self) -> str:
        """The transcript as text."""
        return self.verdict.transcript or ""

    @property
    def digest(self) -> str:
        """The digest of the transcript: the same for the same run."""
        return self.verdict.digest

    @property
    def plan(self) -> str:
        """All choices of this run, and the seed of the agent's own chance: with it the same run comes again, whatever the seed."""
        return f"# seed {self.seed}\n\n{self.verdict.plan}"

    @property
    def failures(self) -> list[str]:
        """All that is wrong, a sentence each."""
        return [*self.verdict.failures, *self.problems]

    @property
    def is_fine(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict.is_fine and not self.failures

    def check(self) -> Run:
        """Raises `FailedRunError` with all that is wrong, if something is."""
        if not self.is_fine:
            told = "\n".join(f"  - {failure}" for failure in self.failures or self.verdict.remarks)
            raise FailedRunError(f"{self.scenario} failed:\n{told}\n\n{self.transcript}")
        return self


def run(
    scenario: str | os.PathLike[str],
    agent: AgentFactory,
    *,
    seed: int | None = None,
    settings: Mapping[str, str] | None = None,
    plan: str | None = None,
    plan_file: str | os.PathLike[str] | None = None,
    without: Sequence[str] = (),
    trace: bool = False,
) -> Run:
    """Runs an agent against a scenario.

    `agent` makes the agent from its `Session`, anew for each run. `settings` are keys of the scenario, as `--set` takes them. `plan` is the text
    of a plan, as `Run.plan` has it; `plan_file` a file with one. `without` names rules that are not asked: `O-21` for an agent that shortens its
    history. With `trace` the boundaries and requests are kept.
    """
    if plan_file is not None:
        plan = Path(plan_file).read_text(encoding="utf-8")
        of = scenario_in(plan, Path(plan_file).parent)
        if of is not None and Path(of).resolve() != Path(scenario).resolve():
            raise ValueError(f"{os.fspath(plan_file)} is a plan of {of}, and not of {os.fspath(scenario)}")
    return play(scenario, agent, RunOptions(seed, settings, plan, without, trace))


@dataclass(frozen=True)
class RunOptions:
    """How an agent is run."""

    seed: int | None = None
    settings: Mapping[str, str] | None = None
    plan: str | None = None
    without: Sequence[str] = ()
    trace: bool = False
    has_transcript: bool = True
    is_explored: bool = False
    """Whether the verdict is to have what an exploration must know."""
    requests_max: int = REQUESTS_MAX
    """An agent that asks more often does not come to an end."""


def play(scenario: str | os.PathLike[str], agent: AgentFactory, options: RunOptions, acts: Sequence[Act] = ()) -> Run:
    """The same, with acts that no plan has."""
    if not _running.acquire(blocking=False):
        raise ReenactError("a run is active in this process: one process has one run at a time")
    try:
        return _play(scenario, agent, options, acts)
    finally:
        _running.release()


def _play(scenario: str | os.PathLike[str], agent: AgentFactory, options: RunOptions, acts: Sequence[Act]) -> Run:
    plan = options.plan
    opened = shared_world().open(
        scenario, seed=options.seed, settings=options.settings, plan=plan, without=options.without, trace=options.is_explored
    )
    opened.interrupts += acts
    traced = Trace(opened) if options.trace else None
    players: list[Player] = []

    async def main(loop: VirtualLoop) -> None:
        player = Player(loop, opened, agent)
        players.append(player)
        if traced is not None:
            traced.watch(loop, player)
        await player.play()
        missed = [act.boundary for act in acts if act in loop.acts_pending]
        player.not_done += [f"{boundary}: the agent came to no such boundary" for boundary in missed]

    planned_seed = None if plan is None else seed_in(plan)
    agent_seed = opened.seed if planned_seed is None else planned_seed
    outcome = run_in_world(opened, main, seed=agent_seed, requests_max=options.requests_max)
    problems = _tell_end(opened, outcome)
    verdict = opened.end(outcome.ended_at, outcome.seen, transcript=options.has_transcript)
    done = Run(os.fspath(scenario), agent_seed, verdict, problems=problems)
    if traced is not None:
        done.boundaries, done.requests = traced.boundaries, traced.requests
    for player in players:
        done.outcomes, done.not_done, done.can_take_messages = player.outcomes, player.not_done, player.can_take_messages
        done.problems += player.problems + [f"not done: {what}" for what in player.not_done]
        done.problems += [
            f"the cancelled prompt raises {outcome.words}"
            for outcome in player.outcomes
            # With a fault it may have failed before the cancel came.
            if outcome.is_cancelled and outcome.how == "error" and outcome.prompt not in verdict.faulted_prompts
        ]
    return done


def _tell_end(opened: OpenRun, outcome: LoopOutcome[None]) -> list[str]:
    """Notes what the agent left behind; returns what only the client's side knows."""
    at, seen = outcome.ended_at, outcome.seen
    problems = [f"refused: {refusal}" for refusal in outcome.refusals]
    problems += [f"an error that nobody caught: {error}" for error in outcome.loop_errors]
    if outcome.exception is not None:
        if isinstance(outcome.exception, DeadlockError | LivelockError):
            kind = "deadlock" if isinstance(outcome.exception, DeadlockError) else "livelock"
            opened.note(at, seen, kind, text=str(outcome.exception))
        else:
            problems.append(f"{BROKE_OFF}{type(outcome.exception).__name__}: {outcome.exception}")
    else:
        for task in outcome.left_tasks:
            opened.note(at, seen, "left_task", text=task)
        for answer in outcome.open_connections:
            opened.note(at, seen, "open_connection", answer=int(answer.removeprefix("answer ")))
    return problems


class Trace:
    """The boundaries and requests of a run, for comparing two."""

    def __init__(self, opened: OpenRun) -> None:
        self.boundaries: list[BoundaryPassed] = []
        self.requests: list[str] = []
        opened.on_request = self._on_request

    def watch(self, loop: VirtualLoop, player: Player) -> None:
        """Follows a run."""

        def passed(name: str) -> None:
            self.boundaries.append(BoundaryPassed(name, loop.now_us, player.is_working))

        loop.on_boundary = passed

    def _on_request(self, at: int, method: str, path: str, headers: Any, body: Any) -> None:
        told = ", ".join(f"{name}: {value}" for name, value in headers)
        text = body if isinstance(body, str) else str(body)
        digest = hashlib.blake2s(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.requests.append(f"at {at} us: {method} {path}; {told}; body {digest}")

