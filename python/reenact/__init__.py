"""Runs an unmodified agent in virtual time, against an API whose answers, faults and refusals come from a scenario.

`run` is one run, `sweep` interrupts the agent at each boundary, `explore` tries all plans within a budget. `docs/python.md` of the project has
an agent in ten lines for each framework.
"""

from reenact._errors import DeadlockError, DifferenceError, FailedRunError, LivelockError, ReenactError, RefusedError, WorldError
from reenact._explore import Exploration, ExploredFinding, explore
from reenact._findings import Finding, FindingGroup, Findings
from reenact._plan import ACTIONS
from reenact._player import AgentFactory, Outcome
from reenact._run import BoundaryPassed, Run, run
from reenact._session import Session, ToolResult
from reenact._sweep import sweep
from reenact._world import Verdict

__all__ = [
    "ACTIONS",
    "AgentFactory",
    "BoundaryPassed",
    "DeadlockError",
    "DifferenceError",
    "Exploration",
    "ExploredFinding",
    "FailedRunError",
    "Finding",
    "FindingGroup",
    "Findings",
    "LivelockError",
    "Outcome",
    "ReenactError",
    "RefusedError",
    "Run",
    "Session",
    "ToolResult",
    "Verdict",
    "WorldError",
    "explore",
    "run",
    "sweep",
]
