"""The findings of a sweep, put together: each defect once, with the first boundary that shows it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from reenact._errors import FailedRunError
from reenact._plan import Interruption, plan_file_text, plan_text
from reenact._run import BROKE_OFF, Run

SHOWN_BOUNDARIES_MAX = 3


@dataclass(frozen=True)
class Finding:
    """One run in which something is wrong."""

    group: str
    """What is wrong, without ids and figures: the same for the same defect."""
    words: str
    others: tuple[str, ...]
    """What else is wrong in the run; mostly it follows from the first."""
    interruption: Interruption | None
    plan: str
    """The text that makes the run again."""


@dataclass
class FindingGroup:
    """All runs with the same defect."""

    group: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def first(self) -> Finding:
        """The earliest of them."""
        return self.findings[0]


@dataclass
class Findings:
    """What a sweep found."""

    scenario: str
    boundaries: int
    """How many boundaries the uninterrupted run has."""
    runs: int
    findings: list[Finding]
    actions: tuple[str, ...]
    tried: int = 0
    """How many interrupts there were."""
    not_tried: list[str] = field(default_factory=list)
    """What could not be tried, and why."""
    not_again: list[str] = field(default_factory=list)
    """Groups whose first finding did not come again: the agent leaves something to the next run."""

    @property
    def groups(self) -> list[FindingGroup]:
        """The defects, those of most boundaries first."""
        groups: dict[str, FindingGroup] = {}
        for finding in self.findings:
            groups.setdefault(finding.group, FindingGroup(finding.group)).findings.append(finding)
        return sorted(groups.values(), key=lambda group: -len(group.findings))

    @property
    def is_fine(self) -> bool:
        """Whether nothing was found, and something was tried."""
        return not self.findings and self.tried > 0

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes a plan file for each group."""
        return write_plans(folder, self.scenario, [(group.group, group.first.plan) for group in self.groups])

    def report(self, replay: list[str] | None = None) -> str:
        """The findings in words. `replay` has the command for each group."""
        actions = ", ".join(self.actions)
        lines = [f"{self.scenario}: {plural(self.boundaries, 'boundary', 'boundaries')} ({actions}), {plural(self.runs, 'run')}"]
        lines += [f"not tried: {what}" for what in self.not_tried]
        if self.tried == 0:
            lines.append("nothing was tried, so nothing is known: no prompt of the scenario was open at any boundary, or no action is possible")
        for number, group in enumerate(self.groups):
            lines.append(f"\n{plural(len(group.findings), 'finding')}: {group.first.words}")
            lines += [f"  and: {other}" for other in group.first.others[:SHOWN_BOUNDARIES_MAX]]
            places = [finding.interruption for finding in group.findings]
            shown = [f"{place.action} at {place.boundary}" if place else "without an interrupt" for place in places]
            more = f", and {len(shown) - SHOWN_BOUNDARIES_MAX} more" if len(shown) > SHOWN_BOUNDARIES_MAX else ""
            lines.append(f"  {'; '.join(shown[:SHOWN_BOUNDARIES_MAX])}{more}")
            if group.group in self.not_again:
                lines.append("  it did not come again in the same process: the agent leaves something from run to run")
            if replay is not None:
                lines.append(f"  again: {replay[number]}")
        if self.is_fine:
            lines.append("nothing found")
        return "\n".join(lines)

    def check(self) -> Findings:
        """Raises `FailedRunError` with the report, if something was found."""
        if not self.is_fine:
            raise FailedRunError(self.report())
        return self

    def __str__(self) -> str:
        return self.report()


def write_plans(folder: str | os.PathLike[str], scenario: str, plans: list[tuple[str, str]]) -> list[Path]:
    """Writes a file for each defect: its group and the plan that shows it. The folder is made."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (group, plan) in enumerate(plans, 1):
        name = re.sub(r"[^a-z0-9]+", "-", group.lower()).strip("-")[:60].rstrip("-")
        path = target / f"{number}-{name}.plan.toml"
        path.write_text(plan_file_text(plan, scenario, os.fspath(target)), encoding="utf-8")
        paths.append(path)
    return paths


def finding_of(run: Run, interruption: Interruption | None) -> Finding | None:
    """What is wrong in a run of a sweep, the first defect before those that follow from it."""
    # An agent that broke off can keep no rule.
    wrong = [(_masked(problem), problem) for problem in run.problems if problem.startswith(BROKE_OFF)]
    wrong += [(violation["group"], f"{violation['rule']}: {violation['text']}") for violation in run.verdict.violations]
    known = {words for _, words in wrong}
    wrong += [(_masked(failure), failure) for failure in run.failures if failure not in known]
    for outcome in run.outcomes:
        if outcome.is_after_interrupt and outcome.how == "error" and outcome.prompt not in run.verdict.faulted_prompts:
            words = f"the next prompt raises {outcome.words}"
            wrong.append((_masked(words), words))
    if not wrong and not run.verdict.is_fine:
        wrong.append(("not fine", "the verdict is not fine, and does not say why"))
    if not wrong:
        return None
    group, words = wrong[0]
    others = tuple(other for _, other in wrong[1:])
    return Finding(group, words, others, interruption, plan_text(run.plan, interruption))


def _masked(words: str) -> str:
    """A sentence without what differs from run to run: quotations, ids and figures."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "#", words)
    return re.sub(r"\b(?=\w*\d)\w+\b", "#", bare)


def plural(count: int, word: str, words: str | None = None) -> str:
    """So many of them."""
    return f"{count} {word if count == 1 else words or word + 's'}"
