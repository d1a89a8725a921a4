"""Tasks and futures that are hashed by a running number, and words for where a task waits.

Sets of tasks are common (`asyncio.wait`, `all_tasks`, task groups) and an object's usual hash is its address, which is different in each
process. The numbers make the order of such sets the same in every run.
"""

from __future__ import annotations

import asyncio
import os
from types import CodeType, FrameType
from typing import Any

ASYNCIO_FILES = os.path.dirname(asyncio.__file__)


class NumberedFuture(asyncio.Future[Any]):
    """A future whose hash is its number within the run."""

    __slots__ = ("number",)

    number: int

    def __hash__(self) -> int:
        return self.number


class NumberedTask(asyncio.Task[Any]):
    """A task whose hash is its number within the run."""

    __slots__ = ("number",)

    number: int

    def __new__(cls, *args: Any, number: int, **options: Any) -> NumberedTask:
        # Here, and not in __init__: the base class hashes the task while it is initialised.
        task = super().__new__(cls)
        task.number = number
        return task

    def __init__(self, *args: Any, number: int, **options: Any) -> None:
        super().__init__(*args, **options)

    def __hash__(self) -> int:
        return self.number


def where_task_waits(task: asyncio.Task[Any]) -> str:
    """The place at which a task is suspended: the innermost frame outside of asyncio, then the innermost of all."""
    waiting: Any = task.get_coro()
    place = outer_place = "not started"
    for _ in range(200):
        frame: FrameType | None = None
        for name in ("cr", "gi", "ag"):
            frame = getattr(waiting, f"{name}_frame", None)
            if frame is not None:
                break
        if frame is None:
            break
        place = describe_frame(frame)
        if not frame.f_code.co_filename.startswith(ASYNCIO_FILES):
            outer_place = place
        inner = getattr(waiting, f"{name}_await", None) or getattr(waiting, "gi_yieldfrom", None)
        if inner is None:
            break
        waiting = inner
    return place if outer_place in (place, "not started") else f"{outer_place} > {place}"


def describe_frame(frame: FrameType) -> str:
    """`function, file:line`, the file with its folder only."""
    code: CodeType = frame.f_code
    name: str = getattr(code, "co_qualname", code.co_name)
    return f"{name}, {short_path(code.co_filename)}:{frame.f_lineno}"


def short_path(path: str) -> str:
    """The last two parts of a path: the same on every machine."""
    return "/".join(path.split(os.sep)[-2:])


def name_handle(handle: asyncio.Handle) -> str:
    """The task that a handle runs, or its callback."""
    callback: Any = handle._callback  # type: ignore[attr-defined]
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"task {task.get_name()!r} at {where_task_waits(task)}"
    return getattr(callback, "__qualname__", None) or repr(callback)


def set_result(future: asyncio.Future[Any]) -> None:
    """Settles a future that nobody has settled or cancelled."""
    if not future.done():
        future.set_result(None)
