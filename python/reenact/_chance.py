"""Chance from the run's seed: `random`, `os.urandom`, `secrets`, `uuid`, numpy's global generator, and the Rust package `uuid_utils`.

`secrets`, `SystemRandom` and `uuid.uuid4` draw from `os.urandom`, to which the modules have references that are replaced.
"""

from __future__ import annotations

import os
import random
import sys
import uuid
from types import ModuleType
from typing import Any

from reenact._state import state

_real_seed = random.Random.seed
_real_urandom = os.urandom
_real_uuid1 = uuid.uuid1
_UUID_EPOCH_100NS = 0x01B21DD213814000  # from 1582-10-15 to 1970-01-01
_VARIANT = 0x8000_0000_0000_0000


class Chance:
    """The source of all chance of one run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._bits = random.Random()
        _real_seed(self._bits, seed)
        self.bits = self._bits.getrandbits
        self._uuids = 0

    def bytes(self, count: int) -> bytes:
        """Random bytes."""
        return self._bits.randbytes(count)

    def uuid4_int(self) -> int:
        """A random UUID."""
        return (self.bits(48) << 80) | (4 << 76) | (self.bits(12) << 64) | _VARIANT | self.bits(62)

    def uuid7_int(self, ms: int | None = None) -> int:
        """A UUID of the time; a running number keeps those of one millisecond in order."""
        self._uuids += 1
        when = self._now_ns() // 1_000_000 if ms is None else ms
        return ((when & (2**48 - 1)) << 80) | (7 << 76) | ((self._uuids & 0xFFF) << 64) | _VARIANT | self.bits(62)

    def uuid1_int(self, node: int | None = None, clock_seq: int | None = None) -> int:
        """A UUID of the time and a node."""
        self._uuids += 1
        when = self._now_ns() // 100 + _UUID_EPOCH_100NS + self._uuids
        low, mid, high = when & 0xFFFFFFFF, (when >> 32) & 0xFFFF, (when >> 48) & 0xFFF
        sequence = self.bits(14) if clock_seq is None else clock_seq & 0x3FFF
        place = self.bits(48) | (1 << 40) if node is None else node
        return (low << 96) | (mid << 80) | (1 << 76) | (high << 64) | _VARIANT | (sequence << 48) | place

    def uuid6_int(self, node: int | None = None) -> int:
        """As version 1, sortable."""
        self._uuids += 1
        when = self._now_ns() // 100 + _UUID_EPOCH_100NS + self._uuids
        place = self.bits(48) if node is None else node
        return ((when >> 12) << 80) | (6 << 76) | ((when & 0xFFF) << 64) | _VARIANT | (self.bits(14) << 48) | place

    @staticmethod
    def _now_ns() -> int:
        clock = state.clock
        assert clock is not None
        return clock.epoch_ns + clock.us * 1000


class _Current:
    """The chance of the active run."""

    chance: Chance | None = None


current = _Current()


def virtual_urandom(size: int) -> bytes:
    chance = current.chance
    return _real_urandom(size) if chance is None else chance.bytes(size)


def virtual_uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
    chance = current.chance
    return _real_uuid1(node, clock_seq) if chance is None else uuid.UUID(int=chance.uuid1_int(node, clock_seq))


def virtual_seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
    """Stands for `Random.seed`: one without a seed gets one from the run's."""
    if a is None and current.chance is not None:
        a = current.chance.bits(128)
    _real_seed(generator, a, version)


def virtual_global_seed(a: Any = None, version: int = 2) -> None:
    virtual_seed(random._inst, a, version)


REPLACEMENTS: list[tuple[object, object]] = [
    (_real_urandom, virtual_urandom),
    (_real_uuid1, virtual_uuid1),
    (random.seed, virtual_global_seed),
]
ATTRIBUTES: list[tuple[object, str, object]] = [(random.Random, "seed", virtual_seed)]


def replacements_of_uuid_utils(module: ModuleType) -> list[tuple[object, object]]:
    """What is replaced of the package `uuid_utils`, which asks the system itself."""
    make: Any = module.UUID

    def replace(name: str, drawn: Any, wrap: Any) -> tuple[object, object] | None:
        real = getattr(module, name, None)
        if real is None:
            return None

        def virtual(*args: Any, **options: Any) -> Any:
            return real(*args, **options) if current.chance is None else wrap(drawn(current.chance, *args, **options))

        return real, virtual

    def as_uuid(number: int) -> Any:
        return make(int=number)

    def uuid7(chance: Chance, timestamp: int | None = None, nanos: int | None = None) -> int:
        return chance.uuid7_int(None if timestamp is None else timestamp * 1000 + (nanos or 0) // 1_000_000)

    def uuid6(chance: Chance, node: int | None = None, timestamp: int | None = None, *args: Any) -> int:
        return chance.uuid6_int(node)

    found = [
        replace("uuid1", Chance.uuid1_int, as_uuid),
        replace("uuid4", Chance.uuid4_int, as_uuid),
        replace("uuid6", uuid6, as_uuid),
        replace("uuid7", uuid7, as_uuid),
        replace("_uuid4_int", Chance.uuid4_int, int),
        replace("_uuid7_int", uuid7, int),
    ]
    return [pair for pair in found if pair is not None]


class ChanceOfRun:
    """Seeds the global generators for the time of a run and gives them back their states."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._state: Any = None
        self._numpy_state: Any = None

    def __enter__(self) -> ChanceOfRun:
        current.chance = Chance(self._seed)
        self._state = random.getstate()
        random.seed(self._seed)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            self._numpy_state = numpy.get_state()
            numpy.seed(self._seed % 2**32)
        return self

    def __exit__(self, *args: object) -> None:
        current.chance = None
        random.setstate(self._state)
        if self._numpy_state is not None:
            sys.modules["numpy.random"].set_state(self._numpy_state)
