"""Runs and sweeps against the real program."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import reenact
from conftest import WITH_PROGRAM, needs, suite_says
from reenact._findings import finding_of
from reenact._plan import Interruption

pytestmark = [*WITH_PROGRAM, needs("anthropic")]

if importlib.util.find_spec("anthropic") is not None:
    import loops

    from reenact.adapters.anthropic import AnthropicLoop

HERE = Path(__file__).parent
TWO = HERE / "scenarios" / "two.toml"
ORPHANS = "O-1: the API refuses request #: `tool_use` ids were found without `tool_result` blocks immediately after: #."


def _write(folder: Path, more: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(TWO.read_text(encoding="utf-8") + more, encoding="utf-8")
    return path


def test_a_run_is_fine_and_has_a_transcript() -> None:
    run = reenact.run(TWO, loops.NaiveLoop).check()
    for words in ("prompt 1 ", "tool starts ", "tool ends ", "request 2 ", "prompt ends "):
        assert words in run.transcript
    assert [outcome.how for outcome in run.outcomes] == ["ok"]
    assert "O-17" in run.verdict.rules_asked


def test_the_choices_of_a_run_make_it_again_with_another_seed() -> None:
    known = reenact.run(TWO, AnthropicLoop)
    assert reenact.run(TWO, AnthropicLoop, seed=5).digest != known.digest
    assert reenact.run(TWO, AnthropicLoop, seed=5, plan=known.plan).transcript == known.transcript


def test_a_plan_has_the_chance_of_the_agent_too() -> None:
    known = reenact.run(TWO, loops.DrawingLoop, seed=3, trace=True)
    assert reenact.run(TWO, loops.DrawingLoop, seed=4, trace=True).requests != known.requests
    assert reenact.run(TWO, loops.DrawingLoop, seed=4, plan=known.plan, trace=True).requests == known.requests


@pytest.mark.parametrize("workers", [1, 2])
def test_naive_is_found_careful_is_clean_and_careful_at_once_is_found(workers: int) -> None:
    naive = reenact.sweep(TWO, loops.NaiveLoop, actions="cancel", workers=workers)
    assert [group.group.startswith(ORPHANS) for group in naive.groups] == [True]
    careful = reenact.sweep(TWO, loops.CarefulLoop, actions="cancel", workers=workers).check()
    assert careful.boundaries > 50
    at_once = reenact.sweep(TWO, loops.CarefulLoop, actions="cancel+prompt", workers=workers)
    assert [group.group.startswith(ORPHANS) for group in at_once.groups] == [True], "the cancelled prompt has not unwound"
    reenact.sweep(TWO, AnthropicLoop, actions=["cancel", "cancel+prompt"], workers=workers).check()


def test_a_finding_comes_again_by_its_plan(tmp_path: Path) -> None:
    found = reenact.sweep(TWO, loops.NaiveLoop, actions=["cancel", "cancel+prompt"])
    for group, path in zip(found.groups, found.write(tmp_path), strict=True):
        again = reenact.run(TWO, loops.NaiveLoop, settings={"expect": "{}"}, plan_file=path)
        finding = finding_of(again, None)
        assert finding is not None
        assert (finding.group, finding.words) == (group.group, group.first.words)


def test_messages_reach_the_agent() -> None:
    found = reenact.sweep(TWO, loops.TalkativeLoop, actions="message")
    assert found.boundaries > 50
    assert not found.is_fine, "a message between a tool use and its result is an error of the API"
    silent = reenact.sweep(TWO, AnthropicLoop, actions=["message", "cancel"])
    assert silent.not_tried == ["message: the agent has no method `message`"]


def test_the_interrupts_of_a_scenario_happen(tmp_path: Path) -> None:
    cancel = '[[interrupt]]\nkind = "cancel"\nwhen = { tool = "Read", state = "completed" }\n'
    run = reenact.run(_write(tmp_path, cancel), AnthropicLoop).check()
    assert [outcome.how for outcome in run.outcomes] == ["cancelled"]
    message = '[[interrupt]]\nkind = "interrupt"\ntext = "Stop."\nwhen = { event = "message_stop" }\n'
    run = reenact.run(_write(tmp_path, message), AnthropicLoop)
    assert any("no method `message`" in failure for failure in run.failures)


def test_an_interrupt_that_never_comes_is_a_failure() -> None:
    plan = "[plan]\n" + Interruption("answer 9 end + 0", "cancel").section()
    failures = reenact.run(TWO, AnthropicLoop, plan=plan).failures
    assert failures == ["the plan's interrupt did not happen: the client came to no boundary answer 9 end + 0"]


def test_what_a_run_leaves_to_the_next_is_named() -> None:
    with pytest.raises(reenact.DifferenceError, match=r"differ at request 1: .*body"):
        reenact.sweep(TWO, loops.ForgetfulLoop, actions="cancel")


def test_a_deadlock_and_a_leak_are_findings() -> None:
    stuck = reenact.run(TWO, loops.StuckLoop).failures
    assert any(failure.startswith("O-19: nothing is left to happen") and "loops.py" in failure for failure in stuck)
    leaky = reenact.run(TWO, loops.LeakyLoop).failures
    assert any(failure.startswith("O-27: at the end of the run a task still runs: task 'worker'") for failure in leaky)


def test_waits_are_those_of_the_sdk_in_virtual_time(tmp_path: Path) -> None:
    faults = "".join(f"[[fault]]\nat = {{ request = 1, attempt = {attempt} }}\nstatus = 529\n" for attempt in (1, 2))
    run = reenact.run(_write(tmp_path, faults), AnthropicLoop).check()
    sent = [request["at_us"] for request in run.verdict.requests]
    assert len(sent) == 4
    assert 375_000 < sent[1] - sent[0] < 1_000_000
    assert 750_000 < sent[2] - sent[1] < 1_500_000


@pytest.mark.parametrize("mistake", ["missing.toml", "scenarios/two.toml"])
def test_wrong_input_is_told(mistake: str) -> None:
    settings = {"engine.modle": '"x"'} if "two" in mistake else None
    with pytest.raises(reenact.WorldError, match=r"no such file|unknown key `modle`"):
        reenact.run(HERE / mistake, AnthropicLoop, settings=settings)
    with pytest.raises(ValueError, match="is no action"):
        reenact.sweep(TWO, AnthropicLoop, actions="dance")


SUITE = """
import pytest
import loops

@pytest.mark.reenact("two.toml", sweep="cancel")
def test_naive(reenact):
    reenact(loops.NaiveLoop)

@pytest.mark.reenact("two.toml", sweep="cancel")
def test_careful(reenact):
    reenact(loops.CarefulLoop)

@pytest.mark.reenact("two.toml", sweep="cancel+prompt")
def test_careful_at_once(reenact):
    reenact(loops.CarefulLoop)
"""


def test_the_plugin_finds_replays_and_keeps_snapshots(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_loops.py").write_text(SUITE, encoding="utf-8")

    def pytest_says(*arguments: str) -> tuple[int, str]:
        return suite_says(tmp_path, *arguments)

    code, told = pytest_says()
    assert (code, "2 failed, 1 passed" in told) == (1, True), told
    assert "findings: O-1: the API refuses request 2" in told
    commands = [line.split("again: pytest ", 1)[1] for line in told.splitlines() if "again: pytest " in line]
    assert commands
    for command in commands:
        code, told = pytest_says(*command.split())
        assert (code, "1 failed" in told) == (1, True), told
    assert sorted(path.name for path in (tmp_path / "__snapshots__").iterdir()) == [
        f"test_loops-test_{name}.txt" for name in ("careful", "careful_at_once", "naive")
    ]
    snapshot = tmp_path / "__snapshots__" / "test_loops-test_careful.txt"
    snapshot.write_text("other\n", encoding="utf-8")
    code, told = pytest_says("test_loops.py::test_careful")
    assert code == 1
    assert "--reenact-update" in told
    assert pytest_says("test_loops.py::test_careful", "--reenact-update")[0] == 0
    assert pytest_says("test_loops.py::test_careful")[0] == 0
