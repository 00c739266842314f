# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Stages of a pipeline whose items have named fields: a register, and one that takes two."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data

from .queue import Queue


class Stage:
    """A pipeline register: an item, whether there is one, and whether another can come.

    Attributes:
        item: What it holds, while `valid`.
        valid: It holds an item.
        free: It holds none, or the one it holds goes on in this cycle; the next stage says so.
    """

    def __init__(self, name: str, **fields):
        self.item = Signal(data.StructLayout(fields), name=name, reset_less=True)
        self.valid = Signal(name=f"{name}_valid")
        self.free = Signal(name=f"{name}_free")

    def load(self, m: Module, entering, **values) -> None:
        """Once free, hold the item of these `values` if there is one `entering`."""
        with m.If(self.free):
            m.d.sync += self.valid.eq(entering)
            m.d.sync += [self.item[name].eq(value) for name, value in values.items()]


class Buffer:
    """A stage that holds two items, so that it is free whatever the next one does in the cycle.

    Attributes:
        item, valid: As of a stage.
        free: It has room for another.
        leaving: The item goes on in this cycle; the next stage says so.
    """

    def __init__(self, m: Module, name: str, **fields):
        layout = data.StructLayout(fields)
        m.submodules[name] = self._queue = queue = Queue(layout, depth=2)
        self.item, self.valid, self.free = queue.o.payload, queue.o.valid, queue.i.ready
        self.leaving = queue.o.ready

    def load(self, m: Module, entering, **values) -> None:
        """Once free, hold the item of these `values` if there is one `entering`."""
        m.d.comb += self._queue.i.valid.eq(entering)
        m.d.comb += [self._queue.i.payload[name].eq(value) for name, value in values.items()]
