"""Virtual `time` and `datetime` for the time of a run.

The functions of `time` are replaced by name. `datetime.datetime` is not: a second class of that name would confuse libraries that compare types
(pydantic does), so the two methods that read the clock are exchanged in the class itself, once, and read the real clock outside of runs.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import time
from typing import Any

from reenact._errors import ReenactError
from reenact._state import US_PER_S, state

real_time = time.time
real_time_ns = time.time_ns
real_monotonic = time.monotonic
real_monotonic_ns = time.monotonic_ns
real_perf_counter = time.perf_counter
real_perf_counter_ns = time.perf_counter_ns
real_process_time = time.process_time
real_process_time_ns = time.process_time_ns
real_thread_time = time.thread_time
real_thread_time_ns = time.thread_time_ns
real_sleep = time.sleep
real_localtime = time.localtime
real_gmtime = time.gmtime
real_ctime = time.ctime
real_asctime = time.asctime
real_strftime = time.strftime
real_clock_gettime = time.clock_gettime
real_clock_gettime_ns = time.clock_gettime_ns


def virtual_time() -> float:
    clock = state.clock
    return real_time() if clock is None else clock.time_s()


def virtual_time_ns() -> int:
    clock = state.clock
    return real_time_ns() if clock is None else clock.epoch_ns + clock.us * 1000


def virtual_monotonic() -> float:
    clock = state.clock
    return real_monotonic() if clock is None else clock.monotonic_s()


def virtual_monotonic_ns() -> int:
    clock = state.clock
    return real_monotonic_ns() if clock is None else round(clock.monotonic_s() * US_PER_S) * 1000


def virtual_perf_counter() -> float:
    return real_perf_counter() if state.clock is None else virtual_monotonic()


def virtual_perf_counter_ns() -> int:
    return real_perf_counter_ns() if state.clock is None else virtual_monotonic_ns()


def virtual_process_time() -> float:
    return real_process_time() if state.clock is None else virtual_monotonic()


def virtual_process_time_ns() -> int:
    return real_process_time_ns() if state.clock is None else virtual_monotonic_ns()


def virtual_thread_time() -> float:
    return real_thread_time() if state.clock is None else virtual_monotonic()


def virtual_thread_time_ns() -> int:
    return real_thread_time_ns() if state.clock is None else virtual_monotonic_ns()


def virtual_sleep(seconds: float) -> None:
    """In a thread a virtual timer; in the loop's own thread it blocks the loop for that long, as it really would."""
    loop = state.loop_of_caller()
    if loop is None:
        real_sleep(seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    loop.threads.wait(_never, loop.clock.us + round(seconds * US_PER_S))


def virtual_localtime(seconds: float | None = None) -> time.struct_time:
    return real_localtime(virtual_time() if seconds is None else seconds)


def virtual_gmtime(seconds: float | None = None) -> time.struct_time:
    return real_gmtime(virtual_time() if seconds is None else seconds)


def virtual_ctime(seconds: float | None = None) -> str:
    return real_ctime(virtual_time() if seconds is None else seconds)


def virtual_asctime(moment: Any = None) -> str:
    return real_asctime(virtual_localtime() if moment is None else moment)


def virtual_strftime(form: str, moment: Any = None) -> str:
    return real_strftime(form, virtual_localtime() if moment is None else moment)


def virtual_clock_gettime(clock_id: int) -> float:
    if state.clock is None:
        return real_clock_gettime(clock_id)
    return virtual_time() if clock_id == time.CLOCK_REALTIME else virtual_monotonic()


def virtual_clock_gettime_ns(clock_id: int) -> int:
    if state.clock is None:
        return real_clock_gettime_ns(clock_id)
    return virtual_time_ns() if clock_id == time.CLOCK_REALTIME else virtual_monotonic_ns()


def _never() -> bool:
    return False


REPLACEMENTS: list[tuple[object, object]] = [
    (real_time, virtual_time),
    (real_time_ns, virtual_time_ns),
    (real_monotonic, virtual_monotonic),
    (real_monotonic_ns, virtual_monotonic_ns),
    (real_perf_counter, virtual_perf_counter),
    (real_perf_counter_ns, virtual_perf_counter_ns),
    (real_process_time, virtual_process_time),
    (real_process_time_ns, virtual_process_time_ns),
    (real_thread_time, virtual_thread_time),
    (real_thread_time_ns, virtual_thread_time_ns),
    (real_sleep, virtual_sleep),
    (real_localtime, virtual_localtime),
    (real_gmtime, virtual_gmtime),
    (real_ctime, virtual_ctime),
    (real_asctime, virtual_asctime),
    (real_strftime, virtual_strftime),
    (real_clock_gettime, virtual_clock_gettime),
    (real_clock_gettime_ns, virtual_clock_gettime_ns),
]


# The calendar

_real_now = datetime.datetime.__dict__["now"]
_real_utcnow = datetime.datetime.__dict__["utcnow"]
_real_today = datetime.date.__dict__["today"]
_US_EPOCH = datetime.datetime(1970, 1, 1)


def _now(cls: type[datetime.datetime], tz: datetime.tzinfo | None = None) -> datetime.datetime:
    clock = state.clock
    if clock is None:
        now: datetime.datetime = _real_now.__get__(None, cls)(tz)
        return now
    us = clock.epoch_ns // 1000 + clock.us
    moment = cls.fromtimestamp(us // US_PER_S, tz)
    return moment.replace(microsecond=us % US_PER_S)


def _utcnow(cls: type[datetime.datetime]) -> datetime.datetime:
    clock = state.clock
    if clock is None:
        now: datetime.datetime = _real_utcnow.__get__(None, cls)()
        return now
    moment = _US_EPOCH + datetime.timedelta(microseconds=clock.epoch_ns // 1000 + clock.us)
    return moment if cls is datetime.datetime else cls(*moment.timetuple()[:6], moment.microsecond)


def _today(cls: type[datetime.date]) -> datetime.date:
    return cls.fromtimestamp(virtual_time())


class _Calendar:
    """Exchanges the methods in the classes, once per process."""

    def __init__(self) -> None:
        self._is_installed = False

    def install(self) -> None:
        if self._is_installed:
            return
        self._is_installed = True
        for cls, methods in ((datetime.datetime, {"now": _now, "utcnow": _utcnow}), (datetime.date, {"today": _today})):
            # The mapping behind a class's `__dict__` is its only referent; after a change the class's caches must be told.
            names: Any = next(referent for referent in gc.get_referents(cls.__dict__) if isinstance(referent, dict))
            for name, method in methods.items():
                names[name] = classmethod(method)
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
        if not isinstance(datetime.datetime.__dict__["now"], classmethod):
            raise ReenactError("this Python does not let the clock of `datetime` be exchanged; please report its version")


calendar = _Calendar()
