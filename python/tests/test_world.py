"""The program and its lines."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from reenact import WorldError
from reenact._world import World, find_program


def test_a_missing_program_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REENACT_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(WorldError, match="pip install reenact"):
        find_program()
    monkeypatch.setenv("REENACT_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(WorldError, match="does not exist"):
        find_program()


def test_an_error_of_the_program_is_raised_and_the_process_goes_on(world: World) -> None:
    with pytest.raises(WorldError, match="no scenario 'none'"):
        world.open("none")
    assert world.open("two_tools").title == "Two tools"


def test_a_program_that_ends_is_named() -> None:
    with World([sys.executable, "-c", "pass"]) as broken, pytest.raises(WorldError, match="has ended"):
        broken.open("two_tools")


def test_notes_come_before_the_next_line_in_their_order(world: World) -> None:
    run = world.open("two_tools")
    run.note(1, 0, "prompt", prompt=1, text="x")
    run.closed(2, 0, 1)
    verdict = run.end(3, 0, transcript=True)
    assert verdict.transcript is not None
    assert [line[:9] for line in verdict.transcript.split("\n")] == ['{"at": 1,', '{"answer"', '{"at": 3,']


def test_a_round_trip_costs_little(world: World) -> None:
    run = world.open("two_tools")
    start = time.perf_counter()
    for _ in range(500):
        run.tool(0, 0, "t", "n", {})
    assert (time.perf_counter() - start) / 500 < 0.002  # some 60 us with the stand-in, on a quiet machine
