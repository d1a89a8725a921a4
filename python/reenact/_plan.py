"""Texts of plans: the choices of a run with its interrupt, as a file that makes the run again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from reenact._world import Act

ACTIONS = ("cancel", "cancel+prompt", "message")
"""Cancel and wait; cancel and prompt again at once; a message while work goes on. Each is followed by one more prompt."""

THEN = "Go on."
MESSAGE = "Wait, there is one more thing."


@dataclass(frozen=True)
class Interruption:
    """What a sweep does to one run."""

    boundary: str
    action: str
    then: str = THEN
    message: str = MESSAGE

    def act(self) -> Act:
        """The same, for the player of a run."""
        is_message = self.action == "message"
        return Act(
            "message" if is_message else "cancel",
            boundary=self.boundary,
            text=self.message if is_message else None,
            then=self.then,
            at_once=self.action == "cancel+prompt",
        )

    def section(self) -> str:
        """The same, for a plan."""
        lines = ["[[plan.interrupt]]", f"boundary = {_quoted(self.boundary)}"]
        lines += ['kind = "interrupt"', f"text = {_quoted(self.message)}"] if self.action == "message" else ['kind = "cancel"']
        lines.append(f"then = {_quoted(self.then)}")
        if self.action == "cancel+prompt":
            lines.append("at_once = true")
        return "\n".join(lines) + "\n"


def plan_text(choices: str, interruption: Interruption | None) -> str:
    """All choices of a run, and its interrupt: the text that makes the run again."""
    return choices if interruption is None else f"{choices.rstrip()}\n\n{interruption.section()}"


def plan_file_text(plan: str, scenario: str, folder: str) -> str:
    """The same as a file in this folder. A comment says which scenario it is for."""
    return f"# of {_quoted(os.path.relpath(scenario, folder))}\n{plan}"


def seed_in(plan: str) -> int | None:
    """The seed of the agent's own chance, which a plan names in its comments."""
    for line in plan.splitlines():
        if line.startswith("# seed "):
            return int(line.removeprefix("# seed "))
    return None


def scenario_in(plan: str, folder: str | os.PathLike[str]) -> str | None:
    """The scenario that a plan file in this folder names in its comments."""
    for line in plan.splitlines():
        if line.startswith("# of "):
            return os.path.join(folder, str(json.loads(line.removeprefix("# of "))))
    return None


def _quoted(text: str) -> str:
    """A string of TOML: the escapes of JSON are among its own."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
