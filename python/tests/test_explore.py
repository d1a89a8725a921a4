"""Explorations: defects that need a fault, another order, or a fault and an interrupt (G-2, E-3)."""

from __future__ import annotations

import importlib.util
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reenact
from conftest import WITH_PROGRAM, needs, suite_says
from reenact._findings import finding_of

pytestmark = [*WITH_PROGRAM, needs("anthropic")]

if importlib.util.find_spec("anthropic") is not None:
    import explored_loops
    import loops

HERE = Path(__file__).parent
TWO = HERE / "scenarios" / "two.toml"
COMMAND_LINE = [sys.executable, "-W", "ignore", "-m", "reenact"]
OVERLOADS = {"explore.faults": '["overloaded"]'}


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}


def _replayed(found: reenact.Exploration, agent: Callable[[reenact.Session], Any], folder: Path) -> list[str]:
    """What the runs of the written plans show."""
    shown = []
    for path in found.write(folder):
        finding = finding_of(reenact.run(TWO, agent, settings={"expect": "{}"}, plan_file=path), None)
        shown.append("nothing" if finding is None else finding.group)
    return shown


def test_a_loop_that_relies_on_the_usual_order_is_found_by_another_one(tmp_path: Path) -> None:
    found = reenact.explore(TWO, explored_loops.ImpatientLoop, budgets="1,0,0")
    (finding,) = found.findings
    assert finding.group.startswith("O-1: the API refuses request #")
    assert finding.decisions == ("tool toolu_p1t1n2 end at 1.990s, before tool toolu_p1t1n1 end",)
    assert (finding.has_come_again, found.finished, found.is_fine) == (True, ("(1,0,0)",), False)
    assert _replayed(found, explored_loops.ImpatientLoop, tmp_path) == [finding.group]
    with pytest.raises(reenact.FailedRunError, match="before tool toolu_p1t1n1 end"):
        found.check()


def test_a_loop_that_spoils_its_history_after_a_failure_is_found_by_the_prompt_that_follows(tmp_path: Path) -> None:
    found = reenact.explore(TWO, explored_loops.RollbackLoop, budgets="0,1,0")
    (finding,) = found.findings
    assert finding.group.startswith("O-1")
    assert "ways" not in finding.words
    # The client asks again by itself: one failure alone does no harm.
    assert finding.decisions == ("overloaded instead of answer 2 and of each further attempt with the same model",)
    assert finding.ways > 1
    assert _replayed(found, explored_loops.RollbackLoop, tmp_path) == [finding.group]


def test_a_loop_that_a_fault_and_a_cancel_break_together_is_found_by_both() -> None:
    agent = explored_loops.WaitingLoopWithoutRetries
    assert reenact.explore(TWO, agent, budgets=["0,1,0", "0,0,1"], actions="cancel", settings=OVERLOADS).is_fine
    found = reenact.explore(TWO, agent, budgets="0,1,1", actions="cancel", settings=OVERLOADS)
    (finding,) = found.findings
    assert finding.decisions[0] == "overloaded instead of answer 2"
    assert finding.decisions[1].startswith("cancel at answer 2 end")
    assert any("leaves out these faults" in note for note in found.notes)


def test_a_loop_that_never_gives_up_has_no_end() -> None:
    found = reenact.explore(TWO, explored_loops.StubbornLoop, budgets="0,1,0", settings=OVERLOADS)
    assert "O-19: the client does not come to an end: it has asked " in found.report()
    assert reenact.explore(TWO, explored_loops.StubbornLoop, budgets="0,1,0", settings=OVERLOADS, without=["O-19", "O-8", "O-27"]).findings == ()


def test_a_careful_loop_is_clean_and_the_number_of_workers_makes_no_difference() -> None:
    one, two = (reenact.explore(TWO, loops.CarefulLoop, actions="cancel", workers=workers) for workers in (1, 2))
    assert one.is_fine, one.report()
    assert (one.report(), sorted(one.tried)) == (two.report(), sorted(two.tried))
    assert set(one.budgets) == {"(1,0,1)", "(0,1,0)"}
    assert "(1,0,1)" in one.finished
    assert "for the plans that were tried" in one.report()


def test_an_exploration_that_is_not_finished_is_not_green() -> None:
    found = reenact.explore(TWO, loops.CarefulLoop, time_s=0)
    assert not found.is_fine
    assert not found.findings
    assert found.finished == ()
    assert "not finished, so that nothing is claimed of it" in found.report()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="plans are tried again in processes of their own on Linux alone")
def test_a_defect_that_another_run_has_left_does_not_come_again() -> None:
    found = reenact.explore(TWO, explored_loops.StainedLoop, budgets="0,1,0", settings=OVERLOADS, workers=1)
    stained = [finding for finding in found.findings if "the agent leaves something from run to run" in finding.words]
    assert [finding.has_come_again for finding in stained] == [False]
    assert any("stained" in words for words in stained[0].others)
    assert "it did not come again" in found.report()


def test_an_agent_cannot_end_the_process() -> None:
    found = reenact.explore(TWO, explored_loops.ExitingLoop, budgets="0,1,0", settings=OVERLOADS, workers=1)
    assert any("os._exit(0) cannot be made virtual" in words for finding in found.findings for words in (finding.words, *finding.others))


def test_a_budget_of_which_nothing_is_possible_is_not_green() -> None:
    found = reenact.explore(TWO, loops.CarefulLoop, budgets="0,1,0", settings={"explore.faults": "[]"})
    assert not found.is_fine
    assert "nothing was tried beside the run as it is" in found.report()
    found = reenact.explore(TWO, loops.CarefulLoop, budgets="1,0,1", actions="message")
    assert not found.is_fine
    assert "no input was tried" in found.report()


def test_the_interrupts_of_the_scenario_need_not_come_beside_another(tmp_path: Path) -> None:
    path = tmp_path / "interrupted.toml"
    interrupt = '[[interrupt]]\nkind = "cancel"\nwhen = { tool = "Read", state = "executing" }\n'
    path.write_text(f"{TWO.read_text(encoding='utf-8')}\n{interrupt}", encoding="utf-8")
    found = reenact.explore(path, loops.CarefulLoop, budgets="0,0,1", actions="cancel")
    assert "did not happen" not in found.report()
    assert "did not happen" not in reenact.sweep(path, loops.CarefulLoop, actions="cancel").report()


def test_an_exploration_that_is_stopped_on_its_way_is_not_green(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = itertools.count()
    monkeypatch.setattr("reenact._explore.now_s", lambda: float(next(steps)))
    found = reenact.explore(TWO, loops.CarefulLoop, budgets="0,1,0", time_s=5, workers=1)
    assert len(found.tried) > 1
    assert not found.findings
    assert not found.is_fine
    assert "of 97)" in found.report()


def test_a_cancelled_prompt_may_raise_what_a_fault_made_of_it() -> None:
    found = reenact.explore(TWO, explored_loops.PatientLoop, budgets="0,1,1", actions="cancel", settings=OVERLOADS)
    assert found.is_fine, found.report()


def test_ctrl_c_tells_what_was_found(tmp_path: Path) -> None:
    listed = tmp_path / "tried"
    command = [*COMMAND_LINE, "explore", os.fspath(TWO), "loops:NaiveLoop", "--budget", "0,1,1", "--list", os.fspath(listed)]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    while not listed.exists():
        time.sleep(0.01)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    told, complaints = process.communicate(timeout=60)
    assert process.returncode == 130, complaints
    assert "interrupted: this is what was tried" in complaints
    assert "not finished, so that nothing is claimed of it: (0,1,1)" in told


def test_wrong_input_is_told() -> None:
    for budgets, words in (("1,1", "as in `1,0,1`"), ("0,0,0", "no decision"), ([], "names no budget")):
        with pytest.raises(reenact.ReenactError, match=words):
            reenact.explore(TWO, loops.CarefulLoop, budgets=budgets)
    with pytest.raises(reenact.DifferenceError):
        reenact.explore(TWO, loops.ForgetfulLoop)


def test_the_command_line_prints_what_makes_a_finding_again(tmp_path: Path) -> None:
    def called(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMAND_LINE, *arguments], cwd=tmp_path, env=_environment(), capture_output=True, text=True, check=False)

    done = called("explore", str(TWO), "explored_loops:RollbackLoop", "--budget", "0,1,0", "--list", "tried.txt")
    assert done.returncode == 1, done.stderr
    (again,) = [line.partition("again: ")[2] for line in done.stdout.splitlines() if "again: " in line]
    assert called(*again.split()[3:]).returncode == 1
    tried = (tmp_path / "tried.txt").read_text().splitlines()
    assert tried[0] == "the run as it is"
    assert f"{len(tried)} plans" in done.stdout
    assert called("explore", str(TWO), "loops:CarefulLoop", "--budget", "2").returncode == 2


SUITE = """
import explored_loops, loops, pytest

@pytest.mark.reenact("two.toml", explore="0,1,0", snapshot=False)
def test_rollback(reenact):
    reenact(explored_loops.RollbackLoop)

@pytest.mark.reenact("two.toml", explore=["1,0,0", "0,1,0"], snapshot=False)
def test_careful(reenact):
    reenact(loops.CarefulLoop)

@pytest.mark.reenact("two.toml", explore=True, snapshot=False, time_s=0)
def test_unfinished(reenact):
    reenact(loops.CarefulLoop)

@pytest.mark.reenact("two.toml", explore="", snapshot=False)
def test_empty(reenact):
    reenact(loops.CarefulLoop)
"""


def test_the_plugin_explores_and_replays(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_explored.py").write_text(SUITE, encoding="utf-8")
    code, told = suite_says(tmp_path)
    assert (code, "2 failed, 1 passed" in told) == (1, True), told
    assert "has an empty `explore`" in told
    assert "not finished, so that nothing is claimed of it" in told
    (again,) = [line.split("again: pytest ", 1)[1] for line in told.splitlines() if "again: pytest " in line]
    code, told = suite_says(tmp_path, *again.split())
    assert (code, "1 failed" in told) == (1, True), told
