"""The errors of the package. Each message says what happened and what to do next."""

from __future__ import annotations


class ReenactError(Exception):
    """The base of all errors of the package."""


class WorldError(ReenactError):
    """The program `reenact world` is missing, has ended, or did not accept a line."""


class DeadlockError(ReenactError):
    """Nothing is left to happen, and the agent still waits."""


class LivelockError(ReenactError):
    """Callbacks follow each other for ever and nothing comes of it."""


class RefusedError(ReenactError, RuntimeError):
    """The agent did something that cannot be made virtual. Each is kept for the verdict, because agents swallow errors."""

    told: list[str] = []  # noqa: RUF012  # one list for all: it is emptied when a run begins

    def __init__(self, words: str) -> None:
        super().__init__(words)
        if words not in self.told:
            self.told.append(words)


class FailedRunError(ReenactError, AssertionError):
    """A run, or a sweep, found something wrong. The words are those of the verdict."""


class DifferenceError(ReenactError):
    """Two runs that should be the same are not: something of the agent is not virtual."""
