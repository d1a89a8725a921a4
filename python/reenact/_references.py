"""The names by which loaded modules refer to what a run replaces.

A module that did `from time import monotonic` has a reference of its own. All such references are found once per process; new modules
are looked at when there are some. So a run costs one assignment for each reference, there and back.
"""

from __future__ import annotations

import sys
from types import ModuleType
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

    def install(self) -> None:
        """Puts the replacements in place."""
        self.look()
        for names, key, _, replacement in self._places:
            names[key] = replacement
        for owner, name, _, replacement, _ in self._attributes:
            setattr(owner, name, replacement)

    def uninstall(self) -> None:
        """Puts the originals back."""
        self.look()
        for names, key, original, replacement in self._places:
            if names.get(key) is replacement:
                names[key] = original
        for owner, name, original, _, is_own in self._attributes:
            if is_own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)
