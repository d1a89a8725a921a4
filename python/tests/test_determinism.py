"""One trace in all runs, in processes with different hash seeds; and each cure that is left out is noticed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import traces

HERE = Path(__file__).parent


def _traces(agent: str, count: int, *more: str, hash_seed: str = "0") -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"}
    command = [sys.executable, str(HERE / "traces.py"), agent, str(count), *more]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("agent", "package"),
    [("drawing_agent", "json"), ("anthropic_agent", "anthropic"), ("anthropic_agent_sync", "anthropic"), ("langgraph_agent", "langgraph")],
)
def test_one_trace_in_two_processes(agent: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; pip install {package} to run this")
    outputs = [_traces(agent, 5, hash_seed=hash_seed) for hash_seed in ("1", "4242")]
    assert all(" 1 traces" in output for output in outputs)
    assert outputs[0].split("{")[1].split("}")[0] == outputs[1].split("{")[1].split("}")[0]


@pytest.mark.parametrize("cure", traces.CURES)
def test_a_cure_that_is_left_out_is_noticed(cure: str) -> None:
    output = _traces("drawing_agent", 4, "two_tools", cure)
    assert "differs at line" in output
