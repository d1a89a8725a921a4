"""Runs agent.py, and then is there for a second more: `lingers.py AGENT PROMPT`. It ends with the agent's code, or that of LINGER_CODE."""
import os, runpy, sys, time

sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    time.sleep(1)
    sys.exit(int(os.environ.get("LINGER_CODE", end.code)))
