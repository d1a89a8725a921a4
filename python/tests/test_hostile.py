"""What an agent does wrong is told, and what is right is left alone."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from conftest import WITH_PROGRAM, needs
from reenact import _run

HERE = Path(__file__).parent
TWO = HERE / "scenarios" / "two.toml"

pytestmark = [*WITH_PROGRAM, needs("anthropic")]

if importlib.util.find_spec("anthropic") is not None:
    import hostile_agents as agents
    import loops

    from reenact.adapters.anthropic import AnthropicLoop


@pytest.fixture(autouse=True)
def _next_run_is_whole(real_program: None) -> Iterator[None]:
    yield
    assert reenact.run(TWO, AnthropicLoop).is_fine, "what a run did wrong, the next one does not feel"


def _told(agent: Any, **options: Any) -> str:
    run = reenact.run(TWO, agent, **options)
    assert not run.is_fine
    return "\n".join(run.failures)


def _swept(agent: Any, actions: str, **options: Any) -> str:
    found = reenact.sweep(TWO, agent, actions=actions, **options)
    assert not found.is_fine
    return str(found)


def test_an_agent_that_asks_nothing_is_not_fine() -> None:
    assert "no request for a message came" in _told(agents.Silent)
    assert "O-24: prompt 1 was answered, and its text is in no request" in _told(agents.Silent)
    assert "no request for a message came" in _swept(agents.Silent, "cancel")


def test_a_refusal_is_told_although_the_agent_swallows_it() -> None:
    assert "refused: a subprocess ('true') cannot be made virtual" in _told(agents.SwallowedRefusal)
    assert "refused: an event loop of its own" in _told(agents.ThreadOfLoops)


def test_an_agent_that_ends_the_process_is_told() -> None:
    assert "the run broke off: SystemExit" in _told(agents.Exiting)


def test_an_ignored_cancel_is_found() -> None:
    assert "O-11: request 2 is sent after the cancel, and prompt 1 has not ended" in _swept(agents.DeafLoop, "cancel")
    assert "the cancelled prompt raises AttributeError: no such attribute" in _swept(agents.ClumsyLoop, "cancel")


def test_messages_are_awaited_judged_and_must_not_be_lost() -> None:
    assert "O-24: the message " in _swept(agents.AsyncMessages, "message")
    assert "the agent's `message` raises ValueError: not now" in _swept(agents.RaisingMessages, "message")
    assert "O-24: prompt 1 was answered, and its text is in no request" in _told(agents.LosingLoop)


def test_sweeps_that_try_nothing_are_not_fine() -> None:
    with pytest.raises(ValueError, match="nothing would be tried"):
        reenact.sweep(TWO, AnthropicLoop, actions=[])
    assert "nothing was tried, so nothing is known" in _swept(AnthropicLoop, "message")


def test_what_is_right_is_left_alone() -> None:
    digests = {reenact.run(TWO, agents.CompletedInOrder).check().digest for _ in range(3)}
    assert len(digests) == 1
    reenact.run(TWO, agents.Deadlines).check()


def test_a_finding_that_does_not_come_again_is_marked() -> None:
    agents.Remembering.cancelled = 0
    found = reenact.sweep(TWO, agents.Remembering, actions="cancel", workers=1)
    agents.Remembering.cancelled = 0
    assert not found.is_fine
    reenact.run(TWO, agents.Remembering).check()


def test_a_plan_of_another_scenario_is_refused(tmp_path: Path) -> None:
    found = reenact.sweep(TWO, loops.NaiveLoop, actions="cancel")
    (path,) = found.write(tmp_path)
    with pytest.raises(ValueError, match=r"is a plan of .*two.toml, and not of "):
        reenact.run(HERE / "scenarios" / "stall.toml", loops.NaiveLoop, plan_file=path)


def test_two_runs_at_once_are_refused() -> None:
    told: list[BaseException] = []

    def agent(session: Any) -> Any:
        async def prompt(text: str) -> None:
            try:
                reenact.run(TWO, AnthropicLoop)
            except reenact.ReenactError as error:
                told.append(error)

        return prompt

    reenact.run(TWO, agent)
    assert "one process has one run at a time" in str(told[0])


def test_a_lock_from_outside_is_refused_by_name() -> None:
    told = _told(agents.locked)
    agents.lock = threading.Lock()
    assert "refused: thread " in told
    assert "hostile_agents.py" in told


def test_ctrl_c_leaves_the_next_run_whole() -> None:
    world = _run.shared_world()
    read = world._read

    def interrupted() -> bytes:
        world._read = read
        raise KeyboardInterrupt

    world._read = interrupted
    with pytest.raises(KeyboardInterrupt):
        reenact.run(TWO, AnthropicLoop)


def test_rules_can_be_left_out() -> None:
    run = reenact.run(TWO, AnthropicLoop, without=["O-21"]).check()
    assert run.verdict.rules_not_asked["the client's word: `without` leaves it out"] == ["O-21"]
    with pytest.raises(reenact.WorldError, match="there is no such rule"):
        reenact.run(TWO, AnthropicLoop, without=["O-99"])


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ('@pytest.mark.reenact("two.toml")\ndef test_a(): pass', [], "ran no agent"),
        ('@pytest.mark.reenact("two.toml")\ndef test_a(reenact): pass', [], "ran no agent"),
        ('@pytest.mark.reenact("two.toml", sweeep="cancel")\ndef test_a(reenact): reenact(None)', [], "the marker `reenact` of"),
        ('@pytest.mark.reenact("two.toml", sweep=[])\ndef test_a(reenact): reenact(None)', [], "an empty `sweep`"),
        ("def test_a(): pass", ["--reenact-plan", "two.toml"], "nothing was replayed"),
        ("def test_a(): pass", ["--reenact-plan", "nowhere.toml"], "name a file that a sweep has written"),
    ],
)
def test_tests_that_look_at_nothing_fail(tmp_path: Path, text: str, arguments: list[str], words: str) -> None:
    (tmp_path / "two.toml").write_text(TWO.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_it.py").write_text(f"import pytest\n\n{text}\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reenact.pytest_plugin", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0, done.stdout
    assert words in done.stdout + done.stderr
