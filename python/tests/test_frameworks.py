"""Agents of frameworks, unmodified, and what a sweep finds in them: the code of docs/findings, which says what these tests show."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

import reenact
from conftest import FINDINGS, WITH_PROGRAM
from reenact._findings import finding_of

TWO = FINDINGS / "two.toml"

pytestmark = WITH_PROGRAM

FRAMEWORKS = {
    "pydantic_ai_agent:agent": ("pydantic_ai", "the next prompt raises UserError: Cannot provide a new user prompt"),
    "langgraph_agents:prebuilt": ("langgraph", "the next prompt raises ValueError: Found AIMessages with tool_calls"),
    "langgraph_agents:own": ("langgraph", "O-1: the API refuses request 2"),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_sweep_finds_the_boundaries_after_which_the_next_prompt_fails(name: str, tmp_path: Path) -> None:
    package, known = FRAMEWORKS[name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; pip install {package} to run this")
    module, _, attribute = name.partition(":")
    agent = getattr(importlib.import_module(module), attribute)
    reenact.run(TWO, agent).check()
    found = reenact.sweep(TWO, agent, actions="cancel")
    print(found)
    assert any(group.first.words.startswith(known) for group in found.groups), found
    for group, path in zip(found.groups, found.write(tmp_path), strict=True):
        again = finding_of(reenact.run(TWO, agent, settings={"expect": "{}"}, plan_file=path), None)
        assert again is not None
        assert again.words == group.first.words
