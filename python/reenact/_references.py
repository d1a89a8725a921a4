"""The names by which loaded modules refer to what a run replaces.

A module that did `from time import monotonic` has a reference of its own. All such references are found once per process; new modules
are looked at when there are some. So a run costs one assignment for each reference, there and back.
"""

from __future__ import annotations

import sys
from types import CellType, FunctionType, ModuleType
from typing import Any

UNTOUCHED = frozenset({"_thread", "functools", "reprlib", "importlib._bootstrap", "importlib._bootstrap_external", "_queue", "_socket"})
"""Modules of the interpreter's own, which need the real things."""
OWN_PACKAGE = "reenact"


class References:
    """What is replaced during runs, and where it is referred to."""

    def __init__(self) -> None:
        self._table: dict[int, tuple[object, object]] = {}
        self._places: list[tuple[dict[str, Any], str, object, object]] = []
        self._attributes: list[tuple[Any, str, object, object, bool]] = []
        self._cells: list[tuple[CellType, object, object]] = []
        self._defaults: list[FunctionType] = []
        self._modules_seen: set[int] = set()
        self._modules_count = 0

    def replace(self, original: object, replacement: object) -> None:
        """Has an object replaced wherever a module refers to it by name."""
        if id(original) not in self._table:
            self._table[id(original)] = (original, replacement)
            self._table[id(replacement)] = (original, replacement)  # for modules that are loaded during a run
            self._modules_seen.clear()
            self._modules_count = 0
            self._places.clear()
            self._cells.clear()
            self._defaults.clear()

    def replace_attribute(self, owner: Any, name: str, replacement: object) -> None:
        """Has an attribute of a class or module replaced."""
        is_own = name in vars(owner)
        self._attributes.append((owner, name, vars(owner).get(name), replacement, is_own))

    def look(self) -> None:
        """Looks at the modules that were loaded since the last time."""
        if len(sys.modules) == self._modules_count:
            return
        self._modules_count = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if not isinstance(module, ModuleType) or id(module) in self._modules_seen:
                continue
            self._modules_seen.add(id(module))
            if name in UNTOUCHED or name.partition(".")[0] == OWN_PACKAGE:
                continue
            names = vars(module)
            for key, value in list(names.items()):
                entry = self._table.get(id(value))
                if entry is not None and (value is entry[0] or value is entry[1]):
                    self._places.append((names, key, *entry))
                elif isinstance(value, FunctionType):
                    self._look_into(value)
                elif isinstance(value, type) and value.__module__ == name:
                    for member in list(vars(value).values()):
                        if isinstance(member, FunctionType):
                            self._look_into(member)

    def _look_into(self, function: FunctionType) -> None:
        """Finds what a function has bound: defaults (`def f(now=time.time)`), and cells (`field(default_factory=time.time)` of a dataclass)."""
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # it is empty so far
            entry = self._table.get(id(value))
            if entry is not None and (value is entry[0] or value is entry[1]):
                self._cells.append((cell, *entry))
        for value in function.__defaults__ or ():
            entry = self._table.get(id(value))
            if entry is not None and (value is entry[0] or value is entry[1]):
                self._defaults.append(function)
                break

    def _exchange_defaults(self, which: int) -> None:
        for function in self._defaults:
            exchanged = []
            for value in function.__defaults__ or ():
                entry = self._table.get(id(value))
                is_known = entry is not None and (value is entry[0] or value is entry[1])
                exchanged.append(entry[which] if entry is not None and is_known else value)
            function.__defaults__ = tuple(exchanged)

    def install(self) -> None:
        """Puts the replacements in place."""
        self.look()
        for names, key, _, replacement in self._places:
            names[key] = replacement
        for cell, _, replacement in self._cells:
            cell.cell_contents = replacement
        self._exchange_defaults(1)
        for owner, name, _, replacement, _ in self._attributes:
            setattr(owner, name, replacement)

    def uninstall(self) -> None:
        """Puts the originals back."""
        self.look()
        for names, key, original, replacement in self._places:
            if names.get(key) is replacement:
                names[key] = original
        for cell, original, _ in self._cells:
            cell.cell_contents = original
        self._exchange_defaults(0)
        for owner, name, original, _, is_own in self._attributes:
            if is_own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)
