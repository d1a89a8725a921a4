"""Refuses by name what cannot be made virtual: processes, and sockets to anywhere else. One audit hook, asleep outside of runs."""

from __future__ import annotations

import multiprocessing.process
import os
import ssl
import sys
from typing import Any, NoReturn

from reenact._errors import RefusedError
from reenact._refusals import USE_DRIVE, USE_HTTP
from reenact._state import state

USE_HTTP_URL = "give the client a base URL that starts with http://"

REFUSED_EVENTS = {
    "subprocess.Popen": USE_DRIVE,
    "os.fork": USE_DRIVE,
    "os.forkpty": USE_DRIVE,
    "os.system": USE_DRIVE,
    "os.exec": USE_DRIVE,
    "os.posix_spawn": USE_DRIVE,
    "os.spawn": USE_DRIVE,
    "pty.spawn": USE_DRIVE,
    "socket.connect": USE_HTTP,
    "socket.bind": USE_HTTP,
    "socket.sendto": USE_HTTP,
    "socket.sendmsg": USE_HTTP,
    "socket.getaddrinfo": USE_HTTP,
    "socket.gethostbyname": USE_HTTP,
    "socket.gethostbyaddr": USE_HTTP,
    "socket.getnameinfo": USE_HTTP,
}


class Guard:
    """Adds the hook to the process once. A refusal is raised at the call."""

    def __init__(self) -> None:
        self._is_hooked = False

    def __enter__(self) -> Guard:
        RefusedError.told.clear()
        if not self._is_hooked:
            self._is_hooked = True
            sys.addaudithook(self._hook)
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if state.loop is None:
            return
        advice = REFUSED_EVENTS.get(event)
        if advice is not None and state.loop_of_caller() is not None:
            self.refuse(_name_call(event, args), advice)

    def refuse(self, call: str, advice: str) -> None:
        """Raises the error for a call."""
        text = f"{call} cannot be made virtual; {advice}"
        raise RefusedError(text)


guard = Guard()


def _name_call(event: str, args: tuple[Any, ...]) -> str:
    if event == "subprocess.Popen" and len(args) > 1:
        command = args[1] if isinstance(args[1], str) else " ".join(str(word) for word in args[1])
        return f"subprocess.Popen({command[:80]!r})"
    if event.startswith("socket.") and args:
        address = args[1] if event in ("socket.connect", "socket.bind", "socket.sendto") and len(args) > 1 else args[0]
        return f"{event}({address!r})"
    if event == "os.system" and args:
        return f"os.system({args[0]!r})"
    return event


_real_exit = os._exit


def _exit(status: int) -> NoReturn:
    if state.loop_of_caller() is not None:
        guard.refuse(f"os._exit({status})", "it would end the run unseen; raise an error instead")
    _real_exit(status)


_real_process_start = multiprocessing.process.BaseProcess.start
_real_wrap_socket = ssl.SSLContext.wrap_socket
_real_wrap_bio = ssl.SSLContext.wrap_bio


def _process_start(process: multiprocessing.process.BaseProcess) -> None:
    if state.loop_of_caller() is not None:
        guard.refuse(f"multiprocessing ({process.name})", USE_DRIVE)
    _real_process_start(process)


def _wrap_socket(context: ssl.SSLContext, *args: Any, **options: Any) -> Any:
    if state.loop_of_caller() is not None:
        guard.refuse("TLS", USE_HTTP_URL)
    return _real_wrap_socket(context, *args, **options)


def _wrap_bio(context: ssl.SSLContext, *args: Any, **options: Any) -> Any:
    if state.loop_of_caller() is not None:
        guard.refuse("TLS", USE_HTTP_URL)
    return _real_wrap_bio(context, *args, **options)


METHODS: list[tuple[type, str, object]] = [
    (multiprocessing.process.BaseProcess, "start", _process_start),
    (ssl.SSLContext, "wrap_socket", _wrap_socket),
    (ssl.SSLContext, "wrap_bio", _wrap_bio),
]
REPLACEMENTS: list[tuple[object, object]] = [(os._exit, _exit)]
