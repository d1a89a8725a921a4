"""Runs agent.py with all signals ignored: `deaf.py AGENT PROMPT`. A client that does not hear an interrupt at all."""
import runpy, signal, sys

real = signal.signal
signal.signal = lambda n, h: real(n, signal.SIG_IGN)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
