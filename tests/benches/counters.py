# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Bench of the counters: random activity, counted here too."""

import cocotb

from castbag.rtl.control.map import Phase
from castbag.sim.bench import Bench

INPUTS = {
    "running": 2,
    "active": 1 << len(Phase),
    "read_beat": 2,
    "write_beat": 2,
    "cast_read_beat": 2,
    "cast_write_beats": 4,  # there are three writers
    "feed_read_beat": 2,
}
"""Ports, and the number of values that each can have."""


class CountersBench(Bench):
    """The counters under activity of a given likelihood."""

    def __init__(self, dut):
        super().__init__(dut)
        self.drive(dict.fromkeys(INPUTS, 0) | {"clear": 0})
        self.forget()

    def drive(self, values: dict[str, int]) -> None:
        for name, value in values.items():
            getattr(self.dut, name).value = value

    def forget(self) -> None:
        self.total = 0
        self.counts = {phase: {"cycles": 0, "read_beats": 0, "write_beats": 0} for phase in Phase}

    def count(self, values: dict[str, int]) -> None:
        self.total += values["running"]
        for phase, count in self.counts.items():
            if values["active"] >> phase & 1:
                count["cycles"] += 1
                if phase != Phase.CAST:
                    count["read_beats"] += values["read_beat"]
                    count["write_beats"] += values["write_beat"]
        self.counts[Phase.CAST]["read_beats"] += values["cast_read_beat"]
        self.counts[Phase.CAST]["write_beats"] += values["cast_write_beats"]
        self.counts[Phase.BACKWARD]["read_beats"] += values["feed_read_beat"]

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            values = {name: self.rng.randrange(choices) for name, choices in INPUTS.items()}
            values["feed_read_beat"] &= ~values["read_beat"]  # one port brings both
            self.drive(values)
            self.count(values)
            await self.step()
        self.drive(dict.fromkeys(INPUTS, 0))
        await self.step()

    def check(self) -> None:
        assert int(self.dut.total.value) == self.total
        for phase, counts in self.counts.items():
            for name, count in counts.items():
                shown = getattr(self.dut, f"{name}__{phase.value}")
                assert int(shown.value) == count, f"{phase.name} {name}"


@cocotb.test
async def counts_what_belongs_to_each_phase(dut):
    bench = CountersBench(dut)
    await bench.reset()
    bench.check()
    for _ in range(10):
        await bench.run(60)
        bench.check()


@cocotb.test
async def clears_all_at_once_whatever_goes_on(dut):
    bench = CountersBench(dut)
    await bench.reset()
    await bench.run(20)
    bench.drive({name: choices - 1 for name, choices in INPUTS.items()} | {"clear": 1})
    await bench.step()
    bench.drive(dict.fromkeys(INPUTS, 0) | {"clear": 0})
    await bench.step()
    bench.forget()
    bench.check()
    await bench.run(20)
    bench.check()
