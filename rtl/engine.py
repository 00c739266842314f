# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Engine: the whole machine, with an AXI4 port to memory and AXI4-Lite registers."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .axi import AXI4LiteSignature, AXI4ReadSignature, AXI4WriteSignature, numbered
from .config import EngineConfig
from .control.command import CommandReader
from .control.counters import Counters
from .control.map import COUNTERS, IDENTITY, VERSION, Error, Optimizer, Phase
from .control.registers import ADDRESS_BITS, RegisterFile
from .control.sequencer import Sequencer
from .datapath import Datapath
from .layouts import VectorWordLayout
from .resets import reset_by


class Engine(wiring.Component):
    """Runs the commands of a descriptor ring in memory: training steps of embedding tables.

        registers -> sequencer -> datapath <-> memory
                         ^           |
                       command <- descriptor

    The map of registers and descriptors is `control/map.py`. Host's part: write the table, the
    batch and descriptors to memory, set RING_BASE, RING_SIZE and TAIL, set CONTROL to 1; await
    the interrupt (or poll HEAD), read results and counters.

    A reset lasts two cycles at least: the datapath has one of its own, a cycle behind.

    Members:
        read, write: AXI4 manager; read1, read2, ...: those that only read, if there are any.
        control: AXI4-Lite subordinate.
        interrupt: An enabled event is pending.
        busy, stopped: A command is under way; an error stopped the ring. As STATUS says.
        trace, trace_valid: Words of coalesced gradients as they leave the reduction; `active`: the
            phases that run; `events`: what counts in this cycle, a bit for each counter of the
            map. For benches; leave them open elsewhere.
    """

    read: wiring.PureInterface
    write: Any  # AXI4WriteSignature
    control: wiring.PureInterface
    interrupt: Signal
    busy: Signal
    stopped: Signal
    trace: data.View
    trace_valid: Signal
    active: Signal
    events: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        bus = {"address_bits": config.address_bits, "data_bits": config.bus_bits}
        super().__init__(
            {
                **{
                    name: Out(AXI4ReadSignature(**bus))
                    for name in numbered("read", config.read_ports)
                },
                "write": Out(AXI4WriteSignature(**bus)),
                "control": In(AXI4LiteSignature(address_bits=ADDRESS_BITS)),
                "interrupt": Out(1),
                "busy": Out(1),
                "stopped": Out(1),
                "trace": Out(VectorWordLayout(config)),
                "trace_valid": Out(1),
                "active": Out(len(Phase)),
                "events": Out(len(COUNTERS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        datapath = Datapath(self.config)
        m.submodules.registers = registers = RegisterFile()
        m.submodules.command = command = CommandReader(self.config)
        m.submodules.sequencer = sequencer = Sequencer(self.config)
        m.submodules.counters = counters = Counters()
        # A reset of its own, straight from a flip-flop: it goes to most of the engine's others.
        m.submodules.datapath = reset_by(m, sequencer.clear, domain="datapath")(datapath)
        connect(m, flipped(self.control), registers.bus)
        for name in numbered("read", self.config.read_ports):
            connect(m, getattr(datapath, name), flipped(getattr(self, name)))
        connect(m, datapath.write, flipped(self.write))
        connect(m, datapath.words, command.i)
        # A cycle later, since it goes to every counter: nothing is counted yet.
        m.d.sync += counters.clear.eq(sequencer.command_start)
        m.d.comb += [
            self.trace.eq(datapath.trace),
            self.trace_valid.eq(datapath.trace_valid),
            # The datapath and what it is told.
            datapath.command.eq(command.command),
            datapath.descriptor.eq(sequencer.descriptor),
            datapath.activity.eq(sequencer.activity),
            datapath.start.eq(sequencer.start),
            datapath.cast_start.eq(sequencer.cast_start),
            datapath.halt.eq(sequencer.halt),
            command.start.eq(sequencer.command_start),
            # What the sequencer learns.
            sequencer.command.eq(command.command),
            sequencer.command_done.eq(command.done),
            sequencer.command_fault.eq(command.error),
            sequencer.command_position.eq(command.position),
            sequencer.done.eq(datapath.done),
            sequencer.cast_done.eq(datapath.cast_done),
            sequencer.fault.eq(datapath.fault),
            sequencer.position.eq(datapath.position),
            sequencer.cast_fault.eq(datapath.cast_fault),
            sequencer.idle.eq(datapath.idle),
            counters.running.eq(sequencer.running),
            counters.active.eq(sequencer.active),
            counters.read_beats.eq(datapath.read_beats),
            counters.write_beats.eq(datapath.write_beats),
            counters.feeding.eq(datapath.feeding),
            counters.valid.eq(datapath.unit_valid),
            counters.ready.eq(datapath.unit_ready),
            counters.ask.eq(registers.ask),
            counters.index.eq(registers.index),
            registers.count_valid.eq(counters.count_valid),
            registers.count.eq(counters.count),
            self.active.eq(sequencer.active),
            self.events.eq(counters.events),
        ]
        self._watch(m, sequencer, datapath)
        self._registers(m, registers, sequencer, datapath)
        return m

    def _watch(self, m: Module, sequencer: Sequencer, datapath: Datapath) -> None:
        """What the watchdog sees: moves on the memory port, and what is awaited there."""
        reads = [getattr(self, name) for name in numbered("read", self.config.read_ports)]
        write = self.write
        standing = [
            *((read.arvalid, read.arready) for read in reads),
            *((read.rvalid, read.rready) for read in reads),
            (write.awvalid, write.awready),
            (write.wvalid, write.wready),
            (write.bvalid, write.bready),
        ]
        m.d.sync += sequencer.moved.eq(Cat(valid & ready for valid, ready in standing).any())
        m.d.comb += [
            sequencer.awaited.eq(
                Cat(
                    Cat(read.arvalid for read in reads).any(),
                    datapath.reading,
                    write.awvalid,
                    write.wvalid,
                    write.bready,  # as long as an answer is expected
                )
            ),
        ]

    def _registers(self, m: Module, registers, sequencer, datapath) -> None:
        """What the registers show, and what they set."""
        config = self.config
        optimizers = sum(1 << Optimizer[name.upper()] for name in config.optimizers)
        events = Cat(sequencer.finished, sequencer.failed)
        pending = Signal(len(events))
        m.d.sync += pending.eq((pending & ~registers.IRQ_clear) | events)
        m.d.comb += [
            registers.IDENTITY.eq(IDENTITY),
            registers.VERSION.eq(VERSION),
            registers.BUS_BYTES.eq(config.bus_bytes),
            registers.ADDRESS_BITS.eq(config.address_bits),
            registers.INDEX_BITS.eq(config.index_bits),
            registers.BAG_BITS.eq(config.bag_bits),
            registers.MAX_LOOKUPS.eq(config.max_lookups),
            registers.MAX_DIM.eq(config.max_dim),
            registers.OPTIMIZERS.eq(optimizers),
            registers.RUN_LENGTH.eq(config.run_length),
            registers.MERGE_WAYS.eq(config.merge_ways),
            registers.RUN_BYTES.eq(config.packing.run_bytes),
            registers.READ_PORTS.eq(config.read_ports),
            self.busy.eq(sequencer.busy),
            self.stopped.eq(sequencer.error != Error.NONE),
            registers.STATUS.eq(Cat(self.busy, self.stopped, sequencer.owed)),
            registers.IRQ.eq(pending),
            registers.HEAD.eq(sequencer.head),
            registers.ERROR.eq(sequencer.error),
            registers.ERROR_POSITION.eq(sequencer.error_position),
            registers.ERROR_PHASE.eq(sequencer.error_phase),
            registers.VALID_LOOKUPS.eq(datapath.valid_lookups),
            registers.DROPPED_LOOKUPS.eq(datapath.dropped_lookups),
            registers.UNIQUE_ROWS.eq(datapath.unique_rows),
            self.interrupt.eq((pending & registers.IRQ_ENABLE).any()),
            sequencer.run.eq(registers.CONTROL[0]),
            sequencer.ring_base.eq(registers.RING_BASE),
            sequencer.ring_last.eq(registers.RING_SIZE),
            sequencer.tail.eq(registers.TAIL),
            sequencer.acknowledge.eq(registers.ERROR_clear[0]),
            sequencer.watchdog.eq(registers.WATCHDOG),
        ]
