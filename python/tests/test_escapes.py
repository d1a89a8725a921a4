"""Nothing in a run reads the real clock or real chance (G-3), and a leak on purpose is seen by the counter and by the comparison of two runs."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reenact
from conftest import FINDINGS, PROGRAM, WITH_PROGRAM, needs

HERE = Path(__file__).parent
COMPILER = shutil.which("cc")

pytestmark = [
    *WITH_PROGRAM,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the counter is preloaded as Linux does it"),
    pytest.mark.skipif(COMPILER is None, reason="there is no compiler of C (`cc`) for the counter"),
    needs("anthropic"),
]


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("native") / "escapes.so"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", str(library), str(HERE / "native" / "escapes.c"), "-ldl"], check=True)
    return library


def _count(counter: Path, agent: str) -> Any:
    path = os.pathsep.join([str(HERE), str(HERE.parent), str(FINDINGS)])
    environment = {**os.environ, "LD_PRELOAD": str(counter), "PYTHONPATH": path, "REENACT_PROGRAM": str(PROGRAM)}
    command = [sys.executable, "-W", "ignore", str(HERE / "escapes.py"), agent]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("package", "agent"),
    [
        ("anthropic", "loops:CarefulLoop"),
        ("pydantic_ai", "pydantic_ai_agent:agent"),
        ("langgraph", "langgraph_agents:own"),
        ("langgraph", "langgraph_agents:prebuilt"),
    ],
)
def test_no_agent_escapes(counter: Path, package: str, agent: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; pip install {package} to run this")
    assert _count(counter, agent) == {}


def test_a_leak_on_purpose_is_counted_and_differs(counter: Path) -> None:
    assert _count(counter, "escapes:LeakyAgent") == {"clock_gettime": 1}
    assert _count(counter, "escapes:PythonLeak") == {"time.time": 1}
    import escapes

    for agent in (escapes.LeakyAgent, escapes.PythonLeak):
        with pytest.raises(reenact.DifferenceError, match=r"differ at request 1: .*body"):
            reenact.sweep(escapes.TWO, agent, actions="cancel")
