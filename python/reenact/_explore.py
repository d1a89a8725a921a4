"""The exploration: all plans within a budget of faults, interrupts and other orders, as the program hands them out."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from reenact._errors import FailedRunError, ReenactError
from reenact._findings import finding_of, plural, write_plans
from reenact._plan import MESSAGE, THEN
from reenact._player import AgentFactory
from reenact._run import Run, RunOptions, play, shared_world
from reenact._sweep import BESIDE_A_WORKER_MIN, actions_of, chosen_actions, compare_runs, worker_count
from reenact._world import World, opening

BUDGETS = ("1,0,1", "0,1,0")
"""Deviations, faults and inputs: what is explored where nobody says it."""

TIME_S = 60.0

PLANS_AT_ONCE = 8

REQUESTS_MORE_MAX = 100
"""A run with so many more requests than the run as it is does not come to an end: its agent never gives up."""


def now_s() -> float:
    """The time of the machine: between runs it is not virtual."""
    return time.monotonic()


@dataclass(frozen=True)
class ExploredFinding:
    """One defect."""

    group: str
    """What is wrong, without ids and figures."""
    words: str
    others: tuple[str, ...]
    """What else is wrong in the smallest run; mostly it follows from the first."""
    decisions: tuple[str, ...]
    """What the smallest run does that the run as it is does not: faults, inputs, orders."""
    ways: int
    """How many plans show it."""
    has_come_again: bool
    """Whether its first run showed it a second time. If not, the agent leaves something from run to run."""
    plan: str
    """The text that makes the smallest run again."""


@dataclass(frozen=True)
class Exploration:
    """What an exploration has looked at, and what it found."""

    scenario: str
    findings: tuple[ExploredFinding, ...]
    budgets: tuple[str, ...]
    finished: tuple[str, ...]
    """The budgets of which every plan was tried."""
    tried: tuple[str, ...]
    """The plans, each by its decisions in words."""
    transcripts: int
    """How many different transcripts their runs have."""
    actions: tuple[str, ...]
    notes: tuple[str, ...]
    """What was left out, and why."""
    report_of_program: dict[str, Any]

    @property
    def is_finished(self) -> bool:
        """Whether every plan within the budgets was tried."""
        return bool(self.report_of_program["is_finished"])

    @property
    def is_empty(self) -> bool:
        """Whether a kind of decision that was asked for was possible nowhere, or nothing was tried beside the run as it is."""
        return bool(self.report_of_program["is_empty"]) or len(self.tried) <= 1

    @property
    def is_fine(self) -> bool:
        """Whether nothing was found, and everything that was asked for was tried."""
        return not self.findings and self.is_finished and not self.is_empty

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes a plan file for each finding."""
        return write_plans(folder, self.scenario, [(finding.group, finding.plan) for finding in self.findings])

    def report(self, replay: list[str] | None = None) -> str:
        """The exploration in words. `replay` has the command for each finding."""
        sizes = [(entry["budget"], entry["tried"], entry["waiting"]) for entry in self.report_of_program["classes"]]
        counts = ", ".join(f"{budget} {tried}{f' of {tried + waiting}' if waiting else ''}" for budget, tried, waiting in sizes if tried)
        sized = f" ({counts})" if counts else ""
        lines = [f"{self.scenario}: {plural(len(self.tried), 'plan')}{sized}, {plural(self.transcripts, 'different transcript')}"]
        finished = " ".join(self.finished) or "no budget"
        left = " ".join(budget for budget in self.budgets if budget not in self.finished)
        lines.append(f"finished {finished}" + (f"; not finished, so that nothing is claimed of it: {left}" if left else ""))
        lines += [f"note: {note}" for note in self.notes]
        for number, finding in enumerate(self.findings):
            lines.append(f"\n{finding.words}")
            lines += [f"  and: {other}" for other in finding.others[:3]]
            ways = f"{plural(finding.ways, 'plan')} {'shows' if finding.ways == 1 else 'show'} it"
            lines.append(f"  {ways}; the smallest: {'; '.join(finding.decisions) or 'the run as it is'}")
            if not finding.has_come_again:
                lines.append("  it did not come again: the agent leaves something from run to run")
            if replay is not None:
                lines.append(f"  again: {replay[number]}")
        if len(self.tried) <= 1:
            lines.append("nothing was tried beside the run as it is, so that nothing is known")
        elif not self.findings:
            lines.append("nothing found")
        lines.append("This is claimed for the plans that were tried, at their times, and for no others.")
        return "\n".join(lines)

    def check(self) -> Exploration:
        """Raises `FailedRunError` with the report, if something was found or a budget is not finished."""
        if not self.is_fine:
            raise FailedRunError(self.report())
        return self

    def __str__(self) -> str:
        return self.report()


def explore(
    scenario: str | os.PathLike[str],
    agent: AgentFactory,
    *,
    budgets: str | Sequence[str] = BUDGETS,
    time_s: float = TIME_S,
    actions: str | Sequence[str] | None = None,
    then: str = THEN,
    message: str = MESSAGE,
    seed: int | None = None,
    settings: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    workers: int | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> Exploration:
    """Tries all plans within budgets of deviations, faults and inputs: `1,0,1` is one arrival out of order and one interrupt.

    Two plain runs come first, as in a sweep. After `time_s` seconds nothing further is tried; the result names the budgets that were finished.
    A run with a fault is prompted once more in the end. `on_progress` hears of the budget, the plans tried and those known. The search also ends
    where `is_stopped` says so.
    """
    settings = {"expect": "{}", **(settings or {})}
    if not time_s >= 0:
        raise ValueError(f"time_s is {time_s}: write how many seconds the search may take")
    chosen_actions(actions)  # a wrong one is told before anything runs
    explored = _Explored(scenario, agent, RunOptions(seed, settings, None, without, is_explored=True, has_transcript=False))
    plain = explored.plain_run()
    explored = replace(explored, options=replace(explored.options, requests_max=len(plain.verdict.requests) + REQUESTS_MORE_MAX))
    chosen, untried = actions_of(actions, plain)
    world = shared_world()
    wanted = [budgets] if isinstance(budgets, str) else list(budgets)
    begin = {"op": "explore", "open": opening(scenario, seed, settings, without), "budgets": wanted}
    number = world.ask({**begin, "actions": chosen, "then": then, "message": message})["exploration"]
    search = _Search(world, number, explored, worker_count(workers))
    try:
        until = now_s() + time_s
        report = search.run(lambda: now_s() > until or (is_stopped is not None and is_stopped()), on_progress)
    finally:
        search.close()
    findings = sorted(report["findings"], key=lambda finding: len(finding["decisions"]))
    return Exploration(
        os.fspath(scenario),
        tuple(_finding(finding) for finding in findings),
        tuple(report["budgets"]),
        tuple(report["finished"]),
        tuple(search.tried),
        report["transcripts"],
        tuple(chosen),
        (*untried, *report["notes"]),
        report,
    )


def _finding(raw: dict[str, Any]) -> ExploredFinding:
    return ExploredFinding(
        raw["group"], raw["words"], tuple(raw["others"]), tuple(raw["decisions"]), raw["ways"], raw["has_come_again"], raw["plan"]
    )


@dataclass(frozen=True)
class _Explored:
    """How the agent is run."""

    scenario: str | os.PathLike[str]
    agent: AgentFactory
    options: RunOptions

    def plain_run(self) -> Run:
        """Raises `DifferenceError` if two plain runs differ."""
        options = replace(self.options, trace=True, has_transcript=True)
        plain = play(self.scenario, self.agent, options)
        compare_runs(plain, play(self.scenario, self.agent, options))
        return plain

    def try_plan(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Runs a plan; returns the members of its line."""
        done = play(self.scenario, self.agent, replace(self.options, plan=plan["plan"], trace=plan["needs_boundaries"]))
        line: dict[str, Any] = {"number": plan["number"], "trace": done.verdict.raw["trace"]}
        line["boundaries"] = [(boundary.name, boundary.at_us) for boundary in done.boundaries if boundary.is_working]
        finding = finding_of(done, None)
        if finding is not None:
            line["finding"] = {"group": finding.group, "words": finding.words, "others": finding.others, "plan": finding.plan}
        return line


class _Search:
    """Asks for plans, has them tried, and says what came of them."""

    def __init__(self, world: World, number: int, explored: _Explored, workers: int) -> None:
        self._world, self._number, self._explored, self._workers = world, number, explored, workers
        self._idle: list[Connection] = []
        self._busy: list[Connection] = []
        self._processes: list[Any] = []
        self._fresh = FreshProcesses(explored) if sys.platform.startswith("linux") else None
        self.tried: list[str] = []

    def run(self, must_stop: Callable[[], bool], on_progress: Callable[[str, int, int], None] | None) -> dict[str, Any]:
        """Until nothing is left or `must_stop` says so. Returns the report of the program."""
        while True:
            reply = self._world.ask({"op": "next", "exploration": self._number, "count": self._wanted, "stop": must_stop()})
            progress = reply["progress"]
            if on_progress is not None:
                on_progress(progress["budget"], progress["tried"], progress["known"])
            if reply["is_over"]:
                return dict(reply["report"])
            self.tried += ["; ".join(plan["decisions"]) or "the run as it is" for plan in reply["plans"] if plan["is_search"]]
            if self._workers > 1 and not self._processes and progress["known"] > BESIDE_A_WORKER_MIN:
                self._start()
            if not reply["plans"] and not self._busy:
                raise ReenactError("the program waits for the run of a plan that no process has: a run was lost")
            self._try(reply["plans"])

    @property
    def _wanted(self) -> int:
        return PLANS_AT_ONCE * max(1, len(self._idle))

    def _try(self, plans: list[dict[str, Any]]) -> None:
        # Whether a defect comes again can be told alone where no other run has left anything.
        if self._fresh is not None and plans and not plans[0]["is_search"]:
            self._tell(self._fresh.try_plan(plan) for plan in plans)
            return
        if not self._processes:
            self._tell(self._explored.try_plan(plan) for plan in plans)
            return
        for start in range(0, len(plans), PLANS_AT_ONCE):
            worker = self._idle.pop()
            worker.send(plans[start : start + PLANS_AT_ONCE])
            self._busy.append(worker)
        # What is still out decides what comes next; and somebody should be idle before more is asked for.
        if self._busy and (not plans or not self._idle):
            for ready in wait(self._busy):
                assert isinstance(ready, Connection)
                try:
                    results, problem = ready.recv()
                except EOFError:
                    results, problem = [], "it ended without a word"
                if problem is not None:
                    raise ReenactError(f"a process of the exploration failed: {problem}")
                self._tell(results)
                self._busy.remove(ready)
                self._idle.append(ready)

    def _tell(self, results: Iterable[dict[str, Any]]) -> None:
        for result in results:
            self._world.tell({"op": "tried", "exploration": self._number, **result})

    def _start(self) -> None:
        fork = multiprocessing.get_context("fork")
        for _ in range(self._workers):
            ours, theirs = fork.Pipe()
            known = [ours, *self._idle]
            if self._fresh is not None:
                known.append(self._fresh.ours)
            process = fork.Process(target=_work, args=(self._explored, theirs, known), daemon=True)
            process.start()
            theirs.close()
            self._idle.append(ours)
            self._processes.append(process)

    def close(self) -> None:
        """Ends the workers."""
        for connection in [*self._idle, *self._busy]:
            connection.close()
        for process in self._processes:
            process.join(timeout=5)
            if process.is_alive():
                process.kill()
        self._processes = []
        if self._fresh is not None:
            self._fresh.close()


def _work(explored: _Explored, plans: Connection, others: list[Connection]) -> None:
    """A worker: until its connection is closed."""
    for other in others:
        other.close()  # else nobody would see the end of them
    with contextlib.suppress(KeyboardInterrupt, EOFError, OSError):  # the parent has ended, or ends
        while True:
            given = plans.recv()
            plans.send(_tried(explored, given))
    # The exit handlers of the parent are not this process's.
    os._exit(0)


def _tried(explored: _Explored, plans: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str | None]:
    try:
        return [explored.try_plan(plan) for plan in plans], None
    except Exception:
        return [], f"{traceback.format_exc()}while it tried one of these: {'; '.join(', '.join(plan['decisions']) for plan in plans)}"


class FreshProcesses:
    """Runs each plan in a process of its own, forked from one in which nothing but the plain runs was made."""

    def __init__(self, explored: _Explored) -> None:
        fork = multiprocessing.get_context("fork")
        self.ours, theirs = fork.Pipe()
        self._process = fork.Process(target=_fork_for_each, args=(explored, theirs, self.ours))
        self._process.start()
        theirs.close()

    def try_plan(self, plan: dict[str, Any]) -> dict[str, Any]:
        """As `_Explored.try_plan`."""
        self.ours.send(plan)
        try:
            results, problem = self.ours.recv()
        except EOFError:
            results, problem = [], "it ended without a word"
        if problem is not None:
            raise ReenactError(f"a process of the exploration failed: {problem}")
        return dict(results[0])

    def close(self) -> None:
        """Ends the process."""
        self.ours.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.kill()


def _fork_for_each(explored: _Explored, plans: Connection, other: Connection) -> None:
    other.close()
    fork = multiprocessing.get_context("fork")
    with contextlib.suppress(KeyboardInterrupt, EOFError, OSError):
        while True:
            plan = plans.recv()
            process = fork.Process(target=_answer_once, args=(explored, plan, plans))
            process.start()
            process.join()
            if process.exitcode != 0:
                plans.send(([], f"the run of a plan ended its process ({process.exitcode}): {'; '.join(plan['decisions'])}"))
    os._exit(0)


def _answer_once(explored: _Explored, plan: dict[str, Any], plans: Connection) -> None:
    plans.send(_tried(explored, [plan]))
    os._exit(0)
