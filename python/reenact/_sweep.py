"""The sweep: the agent is interrupted at each boundary in turn, prompted once more, and what it sends then is judged."""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reenact._errors import DifferenceError, ReenactError
from reenact._findings import Finding, Findings, finding_of
from reenact._plan import ACTIONS, MESSAGE, THEN, Interruption
from reenact._player import AgentFactory
from reenact._run import Run, RunOptions, play

BESIDE_A_WORKER_MIN = 40
"""So many runs are worth a process of their own."""


def sweep(
    scenario: str | os.PathLike[str],
    agent: AgentFactory,
    *,
    actions: str | Sequence[str] | None = None,
    then: str = THEN,
    message: str = MESSAGE,
    seed: int | None = None,
    settings: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    workers: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Findings:
    """Interrupts the agent at each boundary of the scenario.

    Two plain runs come first. If they differ there is no sweep, and `DifferenceError` names the first difference. The scenario's own expectations
    are not asked: an interrupted run need not meet them. `actions` are those of `ACTIONS`; by default all that the agent can do. `without` names
    rules that are not asked. `workers` is the number of processes, by default one for each processor.
    """
    chosen_actions(actions)  # a wrong one is told before anything runs
    settings = {"expect": "{}", **(settings or {})}

    def played(interruption: Interruption | None, trace: bool = False) -> Run:
        options = RunOptions(seed, settings, None, without, trace, has_transcript=trace)
        return play(scenario, agent, options, [interruption.act()] if interruption is not None else [])

    plain = played(None, trace=True)
    compare_runs(plain, played(None, trace=True))
    chosen, not_tried = actions_of(actions, plain)
    places = [boundary.name for boundary in plain.boundaries if boundary.is_working]
    tried = [Interruption(place, action, then, message) for place in places for action in chosen]
    first = finding_of(plain, None)
    findings = [] if first is None else [first]

    def judged(interruption: Interruption) -> Finding | None:
        return finding_of(played(interruption), interruption)

    found = _in_processes(judged, tried, worker_count(workers, len(tried)), on_progress)
    findings += [finding for finding in found if finding is not None]
    report = Findings(os.fspath(scenario), len(places), len(tried) + 2, findings, chosen, len(tried), not_tried)
    for group in report.groups:
        first = group.first
        again = finding_of(played(first.interruption), first.interruption)
        if again is None or again.group != group.group:
            report.not_again.append(group.group)
    return report


def compare_runs(one: Run, other: Run) -> None:
    """Raises `DifferenceError` with the first difference of two runs that should be the same."""
    for what, ones, others in (
        ("request", one.requests, other.requests),
        ("boundary", [str(place) for place in one.boundaries], [str(place) for place in other.boundaries]),
        ("line of the transcript", one.transcript.splitlines(), other.transcript.splitlines()),
    ):
        for number, (left, right) in enumerate(zip(ones, others, strict=False), 1):
            if left != right:
                raise DifferenceError(_difference(one.scenario, f"{what} {number}", left, right))
        if len(ones) != len(others):
            longer = ones if len(ones) > len(others) else others
            count = min(len(ones), len(others))
            raise DifferenceError(_difference(one.scenario, f"{what} {count + 1}", longer[count], "nothing"))
    if one.digest != other.digest:
        raise DifferenceError(_difference(one.scenario, "the digest of the answers", one.digest, other.digest))


def _difference(scenario: str, place: str, left: str, right: str) -> str:
    at = next((index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    start = max(0, at - 60)
    return (
        f"two runs of {scenario} differ at {place}: {left[start : at + 60]!r} in the first, {right[start : at + 60]!r} in the second. "
        "Something of the agent is not virtual: a clock, chance or an order that comes from outside, or state that a run leaves to the next"
    )


def actions_of(actions: str | Sequence[str] | None, plain: Run) -> tuple[tuple[str, ...], list[str]]:
    """The actions that the agent of a plain run can take, and those that were asked for in vain."""
    chosen = chosen_actions(actions)
    if plain.can_take_messages or "message" not in chosen:
        return chosen, []
    not_tried = [] if actions is None else ["message: the agent has no method `message`"]
    return tuple(action for action in chosen if action != "message"), not_tried


def chosen_actions(actions: str | Sequence[str] | None) -> tuple[str, ...]:
    """The actions by their names; all where none is named."""
    chosen = ACTIONS if actions is None else (actions,) if isinstance(actions, str) else tuple(actions)
    if not chosen:
        raise ValueError(f"no action is named, so that nothing would be tried; write some of {', '.join(repr(known) for known in ACTIONS)}")
    for action in chosen:
        if action not in ACTIONS:
            raise ValueError(f"{action!r} is no action; write {', '.join(repr(known) for known in ACTIONS)}")
    return chosen


def worker_count(workers: int | None, runs: int | None = None) -> int:
    """How many processes so many runs are worth; all where nobody knows how many there will be."""
    if workers is not None:
        return max(1, workers)
    # Only a forked process has the agent without being told how to import it.
    if not sys.platform.startswith("linux"):
        return 1
    processors = len(os.sched_getaffinity(0))
    return processors if runs is None else max(1, min(processors, runs // BESIDE_A_WORKER_MIN))


def _in_processes(
    judged: Callable[[Interruption], Finding | None],
    tried: list[Interruption],
    workers: int,
    on_progress: Callable[[int, int], None] | None,
) -> Iterable[Finding | None]:
    """The findings in the order of the interruptions, whatever the number of processes."""
    found: list[Finding | None] = [None] * len(tried)
    fork = multiprocessing.get_context("fork") if workers > 1 else None
    pipes: list[Any] = []
    processes = []
    if fork is not None:
        for worker in range(1, workers):
            receiver, sender = fork.Pipe(duplex=False)
            process = fork.Process(target=_work, args=(judged, tried[worker::workers], sender), daemon=True)
            process.start()
            sender.close()
            pipes.append(receiver)
            processes.append(process)
    for done, index in enumerate(range(0, len(tried), workers), 1):
        found[index] = judged(tried[index])
        if on_progress is not None:
            on_progress(min(done * workers, len(tried)), len(tried))
    for worker, (receiver, process) in enumerate(zip(pipes, processes, strict=True), 1):
        try:
            results, problem = receiver.recv()
        except EOFError:
            results, problem = [], "it ended without a word"
        process.join()
        if problem is not None:
            raise ReenactError(f"a process of the sweep failed: {problem}")
        found[worker::workers] = results
    return found


def _work(judged: Callable[[Interruption], Finding | None], tried: list[Interruption], sender: Any) -> None:
    try:
        sender.send(([judged(interruption) for interruption in tried], None))
    except BaseException:
        sender.send(([], traceback.format_exc()))
    sender.close()
    # The exit handlers of the parent are not this process's.
    os._exit(0)
