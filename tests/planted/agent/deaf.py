import signal, sys, os, runpy
real = signal.signal
signal.signal = lambda n, h: real(n, signal.SIG_IGN)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
