"""What else is different from run to run, and its cures: the garbage collector, sets hashed by address, module state, certificates.

A table of known leaks, each with its library. A library that is not loaded costs nothing.
"""

from __future__ import annotations

import concurrent.futures
import gc
import itertools
import ssl
import sys
from collections.abc import Callable
from typing import Any

COLLECT_EVERY_RUNS = 16

CACHES_OF_CLIENTS = (
    "langchain_anthropic._client_utils",
    "langchain_openai.chat_models._client_utils",
    "pydantic_ai.models",
)
"""Modules whose caches keep HTTP clients, with connections of an earlier run."""

MODULE_STATE: tuple[tuple[str, str, Callable[[], object]], ...] = (
    ("uuid", "_last_timestamp", lambda: None),
    ("uuid", "_last_timestamp_v6", lambda: None),
    ("uuid", "_last_timestamp_v7", lambda: None),
    ("uuid", "_last_counter_v7", lambda: 0),
    ("langgraph.checkpoint.base.id", "_last_v6_timestamp", lambda: None),
    ("asyncio.tasks", "_task_name_counter", lambda: itertools.count(1).__next__),
    ("threading", "_counter", lambda: itertools.count(1).__next__),
)
"""Counters and last times of modules, and what each is at the start of a run."""


class Garbage:
    """The collector is off during runs, so that finalisers run at the same places; what is left is collected between runs."""

    def __init__(self) -> None:
        self._runs = 0
        self._modules = 0
        self._was_enabled = False

    def __enter__(self) -> Garbage:
        self._was_enabled = gc.isenabled()
        gc.disable()
        return self

    def __exit__(self, *args: object) -> None:
        self._runs += 1
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            gc.collect()
            gc.freeze()  # libraries are many objects and stay; they are not looked at again
        elif self._runs % COLLECT_EVERY_RUNS == 0:
            gc.collect()
        if self._was_enabled:
            gc.enable()


class Numbers:
    """Hashes by number for classes whose instances are put into sets, in the order in which they were made or first hashed."""

    def __init__(self) -> None:
        self._next = itertools.count(1).__next__
        self._scopes: dict[int, int] = {}
        self._classes: set[type] = set()

    def restart(self) -> None:
        """A run begins. Nothing that was numbered before is in a set that is still used."""
        self._next = itertools.count(1).__next__
        self._scopes.clear()

    def number_by_attribute(self, cls: Any) -> None:
        """For classes whose instances have a `__dict__`."""
        if cls in self._classes:
            return
        self._classes.add(cls)

        def hash_by_number(instance: Any) -> int:
            names = instance.__dict__
            number = names.get("_reenact_number")
            if number is None:
                number = names["_reenact_number"] = self._next()
            return int(number)

        cls.__hash__ = hash_by_number

    def number_by_address(self, cls: Any) -> None:
        """For classes with slots: the number is kept by the address, and given anew when an instance is made there."""
        if cls in self._classes:
            return
        self._classes.add(cls)
        real_init = cls.__init__
        scopes = self._scopes

        def init(instance: Any, *args: Any, **options: Any) -> None:
            scopes[id(instance)] = self._next()
            real_init(instance, *args, **options)

        def hash_by_number(instance: Any) -> int:
            return scopes.get(id(instance)) or scopes.setdefault(id(instance), self._next())

        cls.__init__ = init
        cls.__hash__ = hash_by_number


class Quiet:
    """All cures together, for the time of a run."""

    def __init__(self) -> None:
        self._numbers = Numbers()
        self._saved: list[tuple[Any, str, object]] = []
        self._is_distro_read = False

    def __enter__(self) -> Quiet:
        numbers = self._numbers
        numbers.restart()
        numbers.number_by_attribute(concurrent.futures.Future)
        anyio = sys.modules.get("anyio._backends._asyncio")
        if anyio is not None:
            numbers.number_by_address(anyio.CancelScope)
            numbers.number_by_attribute(anyio.WorkerThread)
        distro = sys.modules.get("distro")
        if distro is not None and not self._is_distro_read:
            self._is_distro_read = True
            distro.info()  # it starts processes, once, and the SDKs ask it in the first run
        for module_name, name, start in MODULE_STATE:
            module = sys.modules.get(module_name)
            if module is not None and hasattr(module, name):
                self._saved.append((module, name, getattr(module, name)))
                setattr(module, name, start())
        for module_name in CACHES_OF_CLIENTS:
            module = sys.modules.get(module_name)
            if module is not None:
                for value in list(vars(module).values()):
                    clear = getattr(value, "cache_clear", None)
                    if clear is not None and getattr(value, "__module__", None) == module_name:
                        clear()
        return self

    def __exit__(self, *args: object) -> None:
        for module, name, value in self._saved:
            setattr(module, name, value)
        self._saved.clear()


class Certificates:
    """One TLS context for all clients of a process: each costs some 15 ms to make, and no run uses one."""

    def __init__(self) -> None:
        self._contexts: dict[str, Any] = {}

    def shared(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """Stands for a function that makes a context."""
        contexts = self._contexts

        def share(*args: Any, **options: Any) -> Any:
            from reenact._state import state

            if state.loop is None:
                return make(*args, **options)
            key = f"{make.__module__} {args} {sorted(options.items())}"
            context = contexts.get(key)
            if context is None:
                context = contexts[key] = make(*args, **options)
            return context

        return share

    def replacements(self) -> list[tuple[object, object]]:
        """What is replaced for it."""
        made: list[tuple[object, object]] = [(ssl.create_default_context, self.shared(ssl.create_default_context))]
        http_core = sys.modules.get("httpcore2._ssl")
        if http_core is not None:
            made.append((http_core.default_ssl_context, self.shared(http_core.default_ssl_context)))
        return made
