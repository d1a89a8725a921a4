"""The event loop in virtual time: asyncio's order of handles, and a jump to the next timer or event of the world when nothing is ready.

It is `asyncio.BaseEventLoop` without its selector. Handles are never shuffled: those that are scheduled during an iteration run in the next one,
and timers that are due are appended. An event of the world is delivered only when nothing is ready, as a handle of its own, so that
the boundaries after an event do not depend on how fast the agent is.
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import heapq
import math
import queue
import socket
import threading
from _thread import get_ident
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any

from reenact import _http
from reenact._boundaries import Boundaries
from reenact._errors import DeadlockError, LivelockError, RefusedError
from reenact._events import EventQueue, WorldEvent
from reenact._refusals import RefusedMethods
from reenact._state import MONOTONIC_BASE_S, US_PER_S, Clock
from reenact._tasks import NumberedFuture, NumberedTask, name_handle, set_result, where_task_waits
from reenact._threads import Threads
from reenact._world import Act, OpenRun, ToolAnswer

HANDLES_WITHOUT_TIME_MAX = 2_000_000
TIME_MAX_US = 24 * 3600 * US_PER_S
REQUESTS_MAX = 1_000
"""A run with more requests does not come to an end."""
REPEATED_HANDLES_KEPT = 200


class VirtualLoop(RefusedMethods, asyncio.BaseEventLoop):  # type: ignore[misc]
    """The loop of one run."""

    _ready: collections.deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool
    _timer_cancelled_count: int
    _task_factory: Any

    def __init__(self, run: OpenRun, clock: Clock | None = None) -> None:
        super().__init__()
        self.set_debug(False)
        self.run = run
        self.clock = clock or Clock()
        self.thread_id = get_ident()
        self.events = EventQueue()
        self.threads = Threads(self)
        self.boundaries = Boundaries()
        self.connections = _http.Connections(self)
        self.seen = 0
        self.handles_run = 0
        self.handles_without_time_max = HANDLES_WITHOUT_TIME_MAX
        self.time_max_us = TIME_MAX_US
        self.requests_max = REQUESTS_MAX
        self.on_act: Callable[[Act], object] | None = None
        """What carries out the acts that come with replies of the world."""
        self.acts_pending: list[Act] = []
        """The acts whose moments have not come."""
        self.fault: BaseException | None = None
        """An error that ends the run, found where it could not be raised."""
        self._objects_numbered = 0
        self._tasks_named = 0
        self._handles_without_time = 0
        self._acts_by_time: list[tuple[int, int, Callable[[], object]]] = []
        self._acts_added = 0

    # Time and boundaries

    def time(self) -> float:
        """Virtual seconds; `time.monotonic()` is the same during a run."""
        return self.clock.monotonic_s()

    @property
    def now_us(self) -> int:
        """Microseconds of the run."""
        return self.clock.us

    @property
    def boundary(self) -> str:
        """The name of the current boundary."""
        return self.boundaries.name

    @property
    def on_boundary(self) -> Callable[[str], None] | None:
        """Called before each handle with the name of the boundary."""
        return self.boundaries.watcher

    @on_boundary.setter
    def on_boundary(self, watcher: Callable[[str], None] | None) -> None:
        self.boundaries.watch(watcher)

    def at_boundary(self, name: str, callback: Callable[[], object]) -> None:
        """Calls `callback` at that boundary, as a handle there would. Where the loop would wait, it is called before time goes on."""
        self.boundaries.add(name, callback)

    def at_time(self, at_us: int, callback: Callable[[], object]) -> None:
        """Calls `callback` at that time, before the world's events and the timers of that time. It is no handle and is not counted as one."""
        self._acts_added += 1
        heapq.heappush(self._acts_by_time, (max(at_us, self.clock.us), self._acts_added, callback))

    def schedule_act(self, act: Act) -> None:
        """Has `on_act` called when the act is due."""
        self.acts_pending.append(act)

        def carry_out() -> None:
            self.acts_pending.remove(act)
            if self.on_act is not None:
                self.on_act(act)

        if act.boundary is not None:
            self.at_boundary(act.boundary, carry_out)
        else:
            self.at_time(act.at or 0, carry_out)

    def note(self, kind: str, **members: object) -> None:
        """Says to the world what the client did now."""
        for act in self.run.note(self.clock.us, self.seen, kind, **members):
            self.schedule_act(act)

    async def run_tool(self, tool_id: str, name: str, tool_input: object, on_progress: Callable[[str], object] | None = None) -> ToolAnswer:
        """Runs a scripted tool of the world. If it is cancelled, the world is told that the tool was stopped."""
        answer = self.run.tool(self.clock.us, self.seen, tool_id, name, tool_input)
        for act in answer.acts:
            self.schedule_act(act)
        ended = self.create_future()
        event: WorldEvent | None = None
        if on_progress is not None:
            for at, text in answer.progress:
                self.call_later((at - self.clock.us) / US_PER_S, on_progress, text)
        if answer.ends_at is not None:
            event = WorldEvent(answer.ends_at, f"tool {tool_id} end", lambda: set_result(ended), needs_loop=True)
            self.events.add(self.events.new_source(), 0, event)
        try:
            await ended
        except asyncio.CancelledError:
            if not ended.done() or ended.cancelled():
                if event is not None:
                    event.is_dropped = True
                self.note("tool_end", id=tool_id, how="stopped")
            raise
        return answer

    # The loop itself

    def _run_once(self) -> None:
        ready, boundaries = self._ready, self.boundaries
        if not ready:
            self._wait()
        self._take_due_timers()
        count = len(ready)
        self._handles_without_time += count
        if self._handles_without_time > self.handles_without_time_max:
            self._raise_livelock()
        for _ in range(count):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            if boundaries.is_watched and boundaries.is_new:
                boundaries.pass_by()
                if handle._cancelled:
                    continue
            boundaries.handles += 1
            self.handles_run += 1
            handle._run()
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault

    def _wait(self) -> None:
        """Nothing is ready: lets threads run, and time go on, until something is."""
        ready, threads, boundaries = self._ready, self.threads, self.boundaries
        while not ready and not self._stopping and self.fault is None:
            if boundaries.is_watched and boundaries.is_new:
                boundaries.pass_by()
            elif threads.are_waiting and threads.run_next():
                self._count_turn()
            else:
                self._jump()

    def _jump(self) -> None:
        """Goes to the next act, event of the world, timer or end of a thread's wait, whichever is first, in this order at the same time."""
        event = self.events.peek()
        times = [
            event.at if event is not None else math.inf,
            self._acts_by_time[0][0] if self._acts_by_time else math.inf,
            self._next_timer_us(),
            self.threads.next_deadline_us() if self.threads.are_waiting else math.inf,
        ]
        at = min(times)
        if at == math.inf:
            raise DeadlockError(self._describe_deadlock())
        self.advance_to(int(at))
        if times[1] <= at:
            heapq.heappop(self._acts_by_time)[2]()
        elif event is not None and times[0] <= at:
            self._ready.append(asyncio.Handle(self._deliver_next, (), self))
        elif times[2] <= at:
            self._take_due_timers()
        # else the end of a thread's wait, which `threads.run_next` finds by the time

    def advance_to(self, at_us: int) -> None:
        """Sets the time, which never goes back."""
        if at_us > self.clock.us:
            self.clock.us = at_us
            self.clock.reads = 0
            self._handles_without_time = 0
            if at_us > self.time_max_us:
                raise LivelockError(
                    f"the agent is not done after {at_us // US_PER_S} s of virtual time, and only timers go on; "
                    f"it waits here: {self._describe_tasks()}"
                )

    def _deliver_next(self) -> None:
        event = self.events.peek()
        if event is not None and event.at <= self.clock.us:  # else it was dropped by the handle's own boundary
            self.events.pop()
            self.deliver(event)

    def deliver(self, event: WorldEvent) -> None:
        """Counts an event of the world, and hands it to who waits for it."""
        self.seen += 1
        self.boundaries.enter(event.name)
        event.deliver()

    def _next_timer_us(self) -> float:
        scheduled = self._scheduled
        while scheduled and scheduled[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]
        if not scheduled or scheduled[0].when() == math.inf:
            return math.inf
        when = scheduled[0].when()
        us = max(self.clock.us, math.floor((when - MONOTONIC_BASE_S) * US_PER_S))
        # Who asks for the time at its turn must not find it earlier than asked for: anyio would set its timer again, for ever.
        while MONOTONIC_BASE_S + us / US_PER_S < when:
            us += 1
        return us

    def _take_due_timers(self) -> None:
        scheduled = self._scheduled
        if scheduled:
            now = self.time()
            while scheduled and scheduled[0].when() <= now:
                handle = heapq.heappop(scheduled)
                handle._scheduled = False  # type: ignore[attr-defined]
                if handle._cancelled:
                    self._timer_cancelled_count -= 1
                else:
                    self._ready.append(handle)

    def _count_turn(self) -> None:
        self._handles_without_time += 1
        if self._handles_without_time > self.handles_without_time_max:
            self._handles_without_time = 0
            raise LivelockError(f"threads take turns with no time passing: {self.threads.describe()}; let them sleep for more than 0 s")

    def _raise_livelock(self) -> None:
        """Runs some more handles to see which ones repeat."""
        count, self._handles_without_time = self._handles_without_time, 0
        names: collections.Counter[str] = collections.Counter()
        for _ in range(REPEATED_HANDLES_KEPT):
            if not self._ready:
                break
            handle = self._ready.popleft()
            if not handle._cancelled:
                names[name_handle(handle)] += 1
                handle._run()
        raise LivelockError(
            f"{count} handles ran with no time passing, since {self.boundaries.event!r}; "
            f"these repeat: {', '.join(name for name, _ in names.most_common(5))}; let the agent wait with asyncio.sleep(s), s > 0"
        )

    def _describe_deadlock(self) -> str:
        where = "; ".join(part for part in (self._describe_tasks(), self.threads.describe()) if part)
        return f"nothing is left to happen after {self.boundaries.event!r}, and the agent still waits: {where or 'no task is left'}"

    def _describe_tasks(self) -> str:
        return "; ".join(f"task {task.get_name()!r} waits at {where_task_waits(task)}" for task in self.pending_tasks())

    def pending_tasks(self) -> list[asyncio.Task[Any]]:
        """The tasks that are not done, in the order of their creation."""
        return sorted((task for task in asyncio.all_tasks(self) if not task.done()), key=lambda task: getattr(task, "number", 0))

    def block(self, is_ready: Callable[[], bool], deadline_us: int | None) -> bool:
        """A handle blocks (`time.sleep`, a lock, a socket): threads run and time goes on, but no other handle. False at the deadline."""
        while not is_ready():
            if deadline_us is not None and self.clock.us >= deadline_us:
                return False
            if self.threads.are_waiting and self.threads.run_next():
                self._count_turn()
                continue
            event = self.events.first_for_threads()
            times = [event.at if event is not None else math.inf, deadline_us if deadline_us is not None else math.inf]
            times.append(self.threads.next_deadline_us())
            if min(times) == math.inf:
                raise DeadlockError(f"a handle of the loop blocks, and no thread is left that could end it. {self._describe_deadlock()}")
            self.advance_to(int(min(times)))
            if event is not None and event.at <= self.clock.us:
                self.events.remove(event)
                self.deliver(event)
        return True

    # What asyncio expects of a loop

    def create_future(self) -> asyncio.Future[Any]:
        """A future that is hashed by its number."""
        future = NumberedFuture(loop=self)
        self._objects_numbered += 1
        future.number = self._objects_numbered
        return future

    def create_task(  # type: ignore[override]
        self, coro: Generator[Any, None, Any] | Coroutine[Any, Any, Any], *, name: str | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        """A task that is hashed by its number; the names count anew in each run."""
        if name is None:
            self._tasks_named += 1
            name = f"Task-{self._tasks_named}"
        if self._task_factory is not None:
            return super().create_task(coro, name=name, **options)  # type: ignore[arg-type,unused-ignore]
        self._check_closed()  # type: ignore[attr-defined]
        self._objects_numbered += 1
        if options.get("context", self) is None:
            del options["context"]  # it does not exist before Python 3.11
        return NumberedTask(coro, loop=self, name=name, number=self._objects_numbered, **options)

    def _write_to_self(self) -> None:
        """Nothing needs to be woken: threads run only while the loop waits for them."""

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's, for the run's own threads."""
        if get_ident() != self.thread_id and self.threads.of_caller() is None:
            name = threading.current_thread().name
            error = RefusedError(
                f"thread {name!r} calls into the loop, but was not started in this run, so it cannot be made virtual; start it within the run"
            )
            self.fault = error
            raise error
        return super().call_soon_threadsafe(callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Runs `func` in a thread of the run. A pool of the agent's own is used where it was made in the run."""
        self._check_closed()  # type: ignore[attr-defined]
        if isinstance(executor, concurrent.futures.ProcessPoolExecutor):
            raise RefusedError("run_in_executor with a process pool cannot be made virtual; use a thread, or `reenact drive`")
        if executor is not None and isinstance(getattr(executor, "_work_queue", None), queue._PySimpleQueue):  # type: ignore[attr-defined]
            return asyncio.wrap_future(executor.submit(func, *args), loop=self)
        return self.threads.call(func, args)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> list[Any]:
        """Every host exists."""
        await asyncio.sleep(0)
        return _http.address_info(port)

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        """The address itself."""
        await asyncio.sleep(0)
        return str(sockaddr[0]), str(sockaddr[1])

    async def create_connection(
        self, protocol_factory: Callable[[], Any], host: Any = None, port: Any = None, *, ssl: Any = None, sock: Any = None, **options: Any
    ) -> tuple[_http.VirtualTransport, Any]:
        """A virtual connection to the world, whatever the host."""
        if ssl:
            raise RefusedError(f"TLS to {host or 'a socket'} cannot be made virtual; give the client a base URL that starts with http://")
        if sock is not None:
            host, port = sock.getpeername()[:2]
            sock.close()  # the transport has a connection of its own
        await asyncio.sleep(0)
        protocol = protocol_factory()
        transport = _http.VirtualTransport(self, protocol, host, port)
        self.call_soon(protocol.connection_made, transport)
        connected = self.create_future()
        self.call_soon(set_result, connected)
        await connected
        return transport, protocol

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Connects a virtual socket."""
        await asyncio.sleep(0)
        sock.connect(address)
