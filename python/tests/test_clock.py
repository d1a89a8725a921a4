"""Clock and chance: virtual within a run, real outside."""

from __future__ import annotations

import asyncio
import datetime
import os
import random
import secrets
import sys
import time
import types
import uuid
from typing import Any

import pytest

from conftest import Runner
from reenact._loop import VirtualLoop


def _draw_time() -> list[Any]:
    module: Any = sys.modules["module_with_references"]
    return [
        time.time(),
        time.time_ns(),
        time.monotonic(),
        time.perf_counter_ns(),
        time.process_time(),
        time.strftime("%Y %j %M"),
        time.gmtime().tm_year,
        time.ctime(),
        datetime.datetime.now(),
        datetime.datetime.now(datetime.timezone.utc),
        datetime.datetime.today(),
        datetime.date.today(),
        module.now(),
    ]


def _draw_chance() -> list[Any]:
    return [
        random.random(),
        random.Random().random(),
        random.SystemRandom().random(),
        os.urandom(4),
        secrets.token_hex(4),
        uuid.uuid4(),
        uuid.uuid1(),
    ]


@pytest.fixture(autouse=True)
def module_with_references() -> None:
    """A module that did `from time import monotonic` before the run."""
    module = types.ModuleType("module_with_references")
    exec("from time import monotonic as now\nfrom datetime import datetime", vars(module))
    sys.modules[module.__name__] = module


async def _main(loop: VirtualLoop) -> list[Any]:
    await asyncio.sleep(90)
    return _draw_time() + _draw_chance()


def test_a_run_reads_the_same_times_and_chances(runner: Runner) -> None:
    first = runner.run(_main)
    assert first.exception is None
    assert first.value[0] == 1_735_689_600 + 90
    assert first.value[2] == 1090
    assert first.value[9] == datetime.datetime(2025, 1, 1, 0, 1, 30, tzinfo=datetime.timezone.utc)
    assert first.value[12] == 1090
    assert type(first.value[8]) is datetime.datetime
    assert runner.run(_main).value == first.value
    other = runner.run(_main, seed=8)
    assert other.value[:13] == first.value[:13]
    assert all(one != two for one, two in zip(other.value[13:], first.value[13:], strict=True))


def test_outside_of_a_run_all_is_real(runner: Runner) -> None:
    random.seed(3)
    expected = random.random()
    random.seed(3)
    runner.run(_main)
    assert random.random() == expected  # the run gave the state back
    assert abs(time.time() - datetime.datetime.now().timestamp()) < 5
    assert time.time() > 1_760_000_000
    assert sys.modules["module_with_references"].now is time.monotonic
    assert time.monotonic.__module__ == "time"
    assert os.urandom(8) != os.urandom(8)
    assert datetime.date.today().year > 2025


def test_subclasses_of_datetime_are_virtual_too(runner: Runner) -> None:
    class Moment(datetime.datetime):
        pass

    async def main(loop: VirtualLoop) -> Any:
        return [Moment.now(), Moment.now(datetime.timezone.utc), Moment.utcnow()]

    values = runner.run(main).value
    assert all(type(value) is Moment for value in values)
    assert values[1].year == 2025


def test_pydantic_takes_virtual_times(runner: Runner) -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")

    async def main(loop: VirtualLoop) -> Any:
        class Model(pydantic.BaseModel):  # type: ignore[misc, name-defined]
            when: datetime.datetime = pydantic.Field(default_factory=datetime.datetime.now)
            day: datetime.date = pydantic.Field(default_factory=datetime.date.today)

        model = Model()
        return Model.model_validate_json(model.model_dump_json()) == model

    assert runner.run(main).value is True


def test_numpy_s_global_generator_is_seeded(runner: Runner) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")

    async def main(loop: VirtualLoop) -> Any:
        return [float(numpy.random.random()), float(numpy.random.default_rng().random())]

    assert runner.run(main).value == runner.run(main).value


def test_uuid_utils_is_virtual(runner: Runner) -> None:
    package = pytest.importorskip("uuid_utils.compat", reason="uuid_utils is not installed")

    async def main(loop: VirtualLoop) -> Any:
        made = [package.uuid7(), package.uuid7(), package.uuid4(), package.uuid1(), package.uuid6()]
        assert made[0] < made[1]
        return [str(each) for each in made] + [each.version for each in made]

    first = runner.run(main)
    assert first.exception is None
    assert first.value[5:] == [7, 7, 4, 1, 6]
    assert runner.run(main).value == first.value
