"""The plugin for pytest: a marker with a scenario, a fixture that runs an agent against it, and `--reenact-plan` for one finding.

    @pytest.mark.reenact("two.toml", sweep="cancel")
    def test_my_agent(reenact):
        reenact(MyAgent)

The transcript of the run is a snapshot beside the test. Findings of the sweep are written as plans, each with the command that replays it.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reenact._errors import FailedRunError
from reenact._explore import BUDGETS, TIME_S, explore
from reenact._findings import finding_of
from reenact._plan import MESSAGE, THEN, scenario_in
from reenact._player import AgentFactory
from reenact._run import Run, run
from reenact._sweep import sweep

PLANS = "plans"
SNAPSHOTS = "__snapshots__"


REPLAYED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line."""
    group = parser.getgroup("reenact")
    group.addoption("--reenact-plan", metavar="FILE", help="replay this plan alone; tests of other scenarios are skipped")
    group.addoption("--reenact-update", action="store_true", help="write the transcripts of this run as the new snapshots")


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and the plan that is replayed."""
    config.addinivalue_line(
        "markers",
        "reenact(scenario, sweep=None, explore=None, snapshot=True, seed=None, settings=None, without=(), then=..., message=..., "
        "workers=None, time_s=...): the scenario of the fixture `reenact`",
    )
    config.stash[REPLAYED] = 0
    plan = config.getoption("--reenact-plan")
    if plan is not None:
        try:
            scenario_in(Path(plan).read_text(encoding="utf-8"), Path(plan).parent)
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"--reenact-plan {plan}: {error}; name a file that a sweep has written") from error


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A plan that no test replayed has shown nothing."""
    is_asked = session.config.getoption("--reenact-plan") is not None and not session.config.option.collectonly
    if is_asked and session.config.stash[REPLAYED] == 0 and session.exitstatus in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says so."""
    if config.getoption("--reenact-plan") is not None and config.stash[REPLAYED] == 0:
        terminalreporter.write_line("no test is of the scenario of --reenact-plan: nothing was replayed", red=True)


@pytest.fixture(autouse=True)
def _reenact_marker_is_used(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test with the marker that runs no agent would be green and have looked at nothing."""
    marker = request.node.get_closest_marker("reenact")
    yield
    if marker is not None and not request.node.stash.get(USED, False):
        pytest.fail("the test has the marker `reenact` and ran no agent: take the fixture `reenact`, and call it with the agent")


USED = pytest.StashKey[bool]()


class Checker:
    """What the fixture gives: called with an agent, it runs and sweeps it."""

    def __init__(
        self,
        request: pytest.FixtureRequest,
        scenario: str,
        *,
        sweep: str | Sequence[str] | bool | None = None,
        explore: str | Sequence[str] | bool | None = None,
        snapshot: bool = True,
        seed: int | None = None,
        settings: Mapping[str, str] | None = None,
        without: Sequence[str] = (),
        then: str = THEN,
        message: str = MESSAGE,
        workers: int | None = None,
        time_s: float = TIME_S,
    ) -> None:
        self._config = request.config
        self._node: Any = request.node
        self._folder = Path(request.node.path).parent
        self._scenario = Path(os.path.relpath(self._folder / scenario, request.config.invocation_params.dir))
        if sweep is not None and sweep is not False and not sweep:
            raise pytest.UsageError("the marker `reenact` has an empty `sweep`: name an action, or leave it out")
        if explore is not None and explore is not False and not explore:
            raise pytest.UsageError("the marker `reenact` has an empty `explore`: name a budget as in `1,0,1`, or leave it out")
        self._sweep, self._explore = sweep, explore
        self._time_s = time_s
        self._snapshot = snapshot
        self._options: dict[str, Any] = {"seed": seed, "settings": settings, "without": without}
        self._sweep_options: dict[str, Any] = {"then": then, "message": message, "workers": workers}

    def __call__(self, agent: AgentFactory) -> Run:
        """Runs the agent, compares its transcript, and sweeps or explores it where the marker says so. Returns the run as it is."""
        self._node.stash[USED] = True
        plan_file = self._config.getoption("--reenact-plan")
        if plan_file is not None:
            return self._replay(agent, Path(plan_file))
        done = run(self._scenario, agent, **self._options).check()
        if self._snapshot:
            self._compare(done)
        if self._sweep:
            self._look_for_findings(agent)
        if self._explore:
            self._try_budgets(agent)
        return done

    def _look_for_findings(self, agent: AgentFactory) -> None:
        actions = None if self._sweep is True else self._sweep
        found = sweep(self._scenario, agent, actions=actions, **self._options, **self._sweep_options)  # type: ignore[arg-type]
        if found.is_fine:
            return
        paths = found.write(self._folder / PLANS / self._name)
        raise FailedRunError(found.report([self._command(path) for path in paths]))

    def _try_budgets(self, agent: AgentFactory) -> None:
        budgets = BUDGETS if self._explore is True else self._explore
        actions = self._sweep if isinstance(self._sweep, str | Sequence) else None
        options = {"budgets": budgets, "actions": actions, "time_s": self._time_s, **self._options, **self._sweep_options}
        found = explore(self._scenario, agent, **options)
        if found.is_fine:
            return
        paths = found.write(self._folder / PLANS / f"{self._name}-explored")
        raise FailedRunError(found.report([self._command(path) for path in paths]))

    def _replay(self, agent: AgentFactory, path: Path) -> Run:
        text = path.read_text(encoding="utf-8")
        named = scenario_in(text, path.parent)
        if named is not None and Path(named).resolve() != self._scenario.resolve():
            pytest.skip(f"{path} is a plan of {named}")
        self._config.stash[REPLAYED] += 1
        settings = {"expect": "{}", **(self._options["settings"] or {})}
        done = run(self._scenario, agent, settings=settings, plan_file=path, without=self._options["without"])
        finding = finding_of(done, None)
        if finding is not None:
            others = "".join(f"\n  and: {other}" for other in finding.others)
            raise FailedRunError(f"{finding.words}{others}\n\n{done.transcript}")
        return done

    def _compare(self, done: Run) -> None:
        path = self._folder / SNAPSHOTS / f"{self._name}.txt"
        known = path.read_text(encoding="utf-8") if path.exists() else None
        if known == done.transcript:
            return
        if self._config.getoption("--reenact-update") or (known is None and not _is_ci()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(done.transcript, encoding="utf-8")
            return
        advice = "run pytest with --reenact-update to take it, and look at it before you commit it"
        if known is None:
            raise FailedRunError(f"there is no snapshot {path}: {advice}")
        lines = difflib.unified_diff(known.splitlines(), done.transcript.splitlines(), "the snapshot", "this run", lineterm="")
        raise FailedRunError(f"the transcript is not that of {path}; {advice}\n" + "\n".join(lines))

    @property
    def _name(self) -> str:
        """The name of the test as a name of a file. Where letters had to go, a digest keeps it apart from others."""
        full = f"{Path(self._node.path).stem}-{self._node.nodeid.partition('::')[2].replace('::', '-')}"
        name = re.sub(r"[^\w.-]+", "-", full).strip("-.")
        return name if name == full else f"{name}-{hashlib.blake2s(full.encode()).hexdigest()[:8]}"

    def _command(self, path: Path) -> str:
        """The command that replays a plan, from where pytest was started."""
        here = self._config.invocation_params.dir
        test = f"{os.path.relpath(self._node.path, here)}::{self._node.nodeid.partition('::')[2]}"
        return f"pytest {shlex.quote(test)} --reenact-plan {shlex.quote(os.path.relpath(path, here))}"


def _is_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


@pytest.fixture
def reenact(request: pytest.FixtureRequest) -> Checker:
    """Runs an agent against the scenario of the test's marker `reenact`."""
    marker = request.node.get_closest_marker("reenact")
    if marker is None or not (marker.args or "scenario" in marker.kwargs):
        raise pytest.UsageError('the fixture `reenact` needs a scenario: mark the test with @pytest.mark.reenact("two.toml")')
    try:
        return Checker(request, *marker.args, **marker.kwargs)
    except TypeError as error:
        raise pytest.UsageError(f"the marker `reenact` of {request.node.nodeid} is wrong: {error}; see `pytest --markers`") from error
