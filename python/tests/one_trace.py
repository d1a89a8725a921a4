"""Many runs of an agent in several processes with different hash seeds, beside a busy core: how many traces there are. One is right.

    REENACT_PROGRAM=target/debug/reenact python python/tests/one_trace.py 1000
"""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TWO = HERE / "scenarios" / "two.toml"
AGENTS = ["loops:CarefulLoop", "loops:SyncLoop", "pydantic_ai_agent:agent", "langgraph_agents:own", "langgraph_agents:prebuilt"]
HASH_SEEDS = ["0", "1", "77", "4242"]


def traces_of(agent: Any, count: int) -> set[str]:
    """The digests of everything that happens in these runs: boundaries with their times, requests whole, the transcript."""
    import reenact

    found = set()
    for _ in range(count):
        run = reenact.run(TWO, agent, trace=True).check()
        found.add(hashlib.blake2s(repr((run.boundaries, run.requests, run.digest)).encode()).hexdigest()[:16])
    return found


def main(count: int) -> int:
    """Prints one line for each agent."""
    path = os.pathsep.join([str(HERE), str(HERE.parent), str(HERE.parents[1] / "docs" / "findings")])
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    failed = 0
    try:
        for agent in AGENTS:
            children = [
                subprocess.Popen(
                    [sys.executable, "-W", "ignore", __file__, agent, str(count // len(HASH_SEEDS))],
                    env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for seed in HASH_SEEDS
            ]
            traces = {line for child in children for line in child.communicate()[0].split()}
            is_fine = len(traces) == 1 and all(child.returncode == 0 for child in children)
            failed += not is_fine
            print(f"{agent}: {count} runs in {len(HASH_SEEDS)} processes: {len(traces)} trace(s){'' if is_fine else ', FAILED'}", flush=True)
    finally:
        busy.kill()
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(main(int(sys.argv[1])))
    module, _, name = sys.argv[1].partition(":")
    print("\n".join(traces_of(getattr(importlib.import_module(module), name), int(sys.argv[2]))))
