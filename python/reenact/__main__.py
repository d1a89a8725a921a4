"""`python -m reenact`: runs, sweeps and explorations without a test suite."""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reenact._errors import ReenactError
from reenact._explore import BUDGETS, TIME_S, explore
from reenact._findings import finding_of
from reenact._plan import ACTIONS, MESSAGE, THEN, Interruption
from reenact._run import RunOptions, play, run
from reenact._sweep import sweep

PROGRAM = "python -m reenact"

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all is well. 1: something was found. 2: the input is wrong."""
    options = _parser().parse_args(arguments)
    try:
        agent = _agent(options.agent)
        return int(options.work(options, agent))
    except (ReenactError, OSError, ImportError, ValueError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace, agent: Any) -> int:
    if options.at is not None:
        interruption = Interruption(options.at, options.do, options.then, options.message)
        settings = {"expect": "{}", **_settings(options)}
        done = play(options.scenario, agent, RunOptions(options.seed, settings, None, options.without), [interruption.act()])
    else:
        expected = {} if options.plan is None else {"expect": "{}"}
        settings = {**expected, **_settings(options)}
        done = run(options.scenario, agent, seed=options.seed, settings=settings, plan_file=options.plan, without=options.without)
    print(done.transcript)
    finding = finding_of(done, None)
    if finding is None and done.is_fine:
        print("all as expected")
        return 0
    words = [finding.words, *finding.others] if finding is not None else done.verdict.remarks
    print("\n".join(f"FAILED: {word}" for word in words))
    return 1


def _sweep(options: argparse.Namespace, agent: Any) -> int:
    found = sweep(options.scenario, agent, **_searched(options))
    paths = found.write(options.plans) if found.findings else []
    print(found.report(_replays(options, paths)))
    return 0 if found.is_fine else 1


def _explore(options: argparse.Namespace, agent: Any) -> int:
    is_shown = sys.stderr.isatty()

    def show(budget: str, tried: int, known: int) -> None:
        print(f"\r{budget} {tried} of {known} plans ", end="", file=sys.stderr, flush=True)

    with _CtrlC() as ctrl_c:
        if options.list is not None:
            Path(options.list).touch()  # a wrong path is told before the search
        found = explore(
            options.scenario,
            agent,
            budgets=options.budget or BUDGETS,
            time_s=options.time,
            **_searched(options),
            on_progress=show if is_shown else None,
            is_stopped=lambda: ctrl_c.was_pressed,
        )
    if is_shown:
        print(file=sys.stderr)
    if options.list is not None:
        Path(options.list).write_text("".join(f"{decisions}\n" for decisions in found.tried), encoding="utf-8")
    paths = found.write(options.plans) if found.findings else []
    print(found.report(_replays(options, paths)))
    if ctrl_c.was_pressed:
        print(f"{PROGRAM}: interrupted: this is what was tried and found until then", file=sys.stderr)
        return INTERRUPTED
    return 0 if found.is_fine else 1


class _CtrlC:
    """The first Ctrl-C lets the runs under way come to their ends, so that what was found is told. The second one ends the program."""

    def __init__(self) -> None:
        self.was_pressed = False
        self._usual: Any = signal.default_int_handler

    def __enter__(self) -> _CtrlC:
        self._usual = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._usual)

    def _note(self, *_: object) -> None:
        self.was_pressed = True
        signal.signal(signal.SIGINT, self._usual)


def _searched(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments that a sweep and an exploration have alike."""
    return {
        "actions": options.actions.split(",") if options.actions else None,
        "then": options.then,
        "message": options.message,
        "seed": options.seed,
        "settings": _settings(options),
        "without": options.without,
        "workers": options.workers,
    }


def _replays(options: argparse.Namespace, paths: Sequence[os.PathLike[str]]) -> list[str]:
    """The command that makes the run of each plan again."""
    start = f"{PROGRAM} run {shlex.quote(options.scenario)} {shlex.quote(options.agent)}"
    sets = "".join(f" --set {shlex.quote(entry)}" for entry in options.set) + "".join(f" --without {rule}" for rule in options.without)
    return [f"{start}{sets} --plan {shlex.quote(os.fspath(path))}" for path in paths]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Runs an agent in virtual time against a scenario.")
    commands = parser.add_subparsers(required=True, metavar="run|sweep|explore")
    for name, work, words in (
        ("run", _run, "one run: its transcript and verdict"),
        ("sweep", _sweep, "interrupt the agent at each boundary, and judge what it sends next"),
        ("explore", _explore, "try all plans within a budget of orders, faults and interrupts"),
    ):
        command = commands.add_parser(name, help=words, description=words)
        command.set_defaults(work=work)
        command.add_argument("scenario", help="a scenario, or a tape")
        command.add_argument("agent", metavar="MODULE:NAME", help="what makes the agent from its session: a class or a function")
        command.add_argument("--seed", type=_seed)
        command.add_argument("--without", action="append", default=[], metavar="RULE", help="do not ask this rule: O-21")
        command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set a key of the scenario")
        command.add_argument("--then", default=THEN, help="the prompt after an interrupt")
        command.add_argument("--message", default=MESSAGE, help="the text of a message")
    run_command, explore_command = commands.choices["run"], commands.choices["explore"]
    run_command.add_argument("--plan", metavar="FILE", help="replay a plan, as a sweep writes it")
    run_command.add_argument("--at", metavar="BOUNDARY", help="interrupt at this boundary: 'answer 1 piece 21 + 8'")
    run_command.add_argument("--do", choices=ACTIONS, default=ACTIONS[0], help="what to do there")
    for command in (commands.choices["sweep"], explore_command):
        command.add_argument("--actions", help=f"some of {','.join(ACTIONS)}; by default all that the agent can do")
        command.add_argument("--workers", type=int, help="so many processes; by default one for each processor")
        command.add_argument("--plans", default="plans", metavar="DIR", help="where plans of findings are written")
    budget_words = f"deviations, faults and inputs of a run, as in 1,0,1; may be given again; by default {' and '.join(BUDGETS)}"
    explore_command.add_argument("--budget", action="append", metavar="D,F,I", help=budget_words)
    explore_command.add_argument("--time", type=float, default=TIME_S, metavar="SECONDS", help=f"stop after so long ({TIME_S:.0f})")
    explore_command.add_argument("--list", metavar="FILE", help="write the plans that were tried, a line each")
    return parser


def _seed(text: str) -> int:
    seed = int(text)
    if not 0 <= seed < 2**64:
        raise argparse.ArgumentTypeError("a seed is a number from 0 below 2^64")
    return seed


def _settings(options: argparse.Namespace) -> dict[str, str]:
    settings = {}
    for entry in options.set:
        key, equals, value = entry.partition("=")
        if not equals:
            raise ValueError(f"--set {entry}: write KEY=VALUE")
        settings[key] = value
    return settings


def _agent(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not colon or not attribute:
        raise ValueError(f"{name!r} names no agent: write MODULE:NAME, for example my_agent:MyAgent")
    sys.path.insert(0, os.getcwd())
    try:
        made = importlib.import_module(module)
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(f"the module {module} cannot be imported: {type(error).__name__}: {error}") from error
    try:
        return getattr(made, attribute)
    except AttributeError:
        raise ValueError(f"the module {module} has no {attribute}") from None


if __name__ == "__main__":
    sys.exit(main())
