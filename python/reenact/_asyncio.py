"""What of asyncio itself is replaced during a run: an order by addresses, and loops of other kinds."""

from __future__ import annotations

import asyncio
import asyncio.events
from collections.abc import Callable, Iterable
from typing import Any

from reenact._errors import RefusedError
from reenact._state import state

_real_as_completed: Callable[..., Any] = asyncio.as_completed
_real_new_event_loop: Callable[..., Any] = asyncio.events.new_event_loop


def _as_completed(fs: Iterable[Any], **options: Any) -> Any:
    """asyncio puts what it is given into a set. Coroutines have the order of their addresses there; tasks of a run have their own."""
    if state.loop_of_caller() is not None:
        fs = [asyncio.ensure_future(awaited) for awaited in dict.fromkeys(fs)]
    return _real_as_completed(fs, **options)


def _new_event_loop() -> Any:
    if state.loop_of_caller() is not None:
        raise RefusedError(
            "an event loop of its own (asyncio.run, asyncio.new_event_loop) cannot be made virtual within a run; "
            "await on the loop of the run, from a thread with asyncio.run_coroutine_threadsafe"
        )
    return _real_new_event_loop()


REPLACEMENTS: list[tuple[object, object]] = [(_real_as_completed, _as_completed), (_real_new_event_loop, _new_event_loop)]
"""What is replaced wherever a module refers to it."""
