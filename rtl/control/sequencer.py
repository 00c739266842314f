# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Sequencer: takes commands from the ring and leads the datapath through their phases."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..config import EngineConfig
from ..datapath import Activity
from .command import CommandLayout
from .map import DESCRIPTOR_BYTES, Awaited, Dataflow, Error, Phase

SLOT_BITS = 16
"""Width of a slot number of the ring."""


class Sequencer(wiring.Component):
    """Takes the commands of the ring, in order, one at a time, each through its phases.

        fetch the descriptor -> forward, cast beside it -> expand -> backward -> update -> next

    A phase begins in the cycle after the one before it is done; expand needs no cast, backward
    waits for it. A fault in any phase, or in the descriptor, ends the command: the port is
    halted, what is on its way is awaited, the datapath is reset. The ring stands still until
    the host acknowledges the error; then the next command is taken.

    The watchdog ends a command in which nothing has moved on the memory port for `watchdog` cycles
    (0: it sleeps). If memory does not answer after that either, the command is told to have failed
    all the same; the ring then stands until the answers have come, whatever the host acknowledges.

    Members:
        run: Take commands.
        ring_base, ring_last, tail: The ring: address, last slot, slot behind the last command.
        head: Slot of the next command.
        acknowledge: Pulse: go on after an error.
        watchdog: Cycles without a move that are too many.
        moved: Something was transferred on the memory port.
        awaited: What stands on it, or is to come: `Awaited` bits.
        command, command_done, command_fault, command_position: From the command reader.
        done, cast_done, fault, position, cast_fault, idle: From the datapath.
        command_start, activity, start, cast_start, descriptor, halt, clear: To the datapath; all
            but `descriptor` and `halt` from flip-flops. `clear` is high through a reset and for a
            cycle more.
        running, active: For the counters: a command runs; phase p of it does.
        busy: A command is being fetched or run.
        owed: A command has failed, and memory has not answered all that it was asked.
        error, error_position, error_phase: Of the command that failed, until acknowledged.
        finished, failed: Pulse: a command ended well, or not.
    """

    run: Signal
    ring_base: Signal
    ring_last: Signal
    tail: Signal
    head: Signal
    acknowledge: Signal
    watchdog: Signal
    moved: Signal
    awaited: Signal
    command: data.View
    command_done: Signal
    command_fault: Signal
    command_position: Signal
    done: Signal
    cast_done: Signal
    fault: Signal
    position: Signal
    cast_fault: Signal
    idle: Signal
    command_start: Signal
    activity: Signal
    start: Signal
    cast_start: Signal
    descriptor: Signal
    halt: Signal
    clear: Signal
    running: Signal
    active: Signal
    busy: Signal
    owed: Signal
    error: Signal
    error_position: Signal
    error_phase: Signal
    finished: Signal
    failed: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "run": In(1),
                "ring_base": In(config.address_bits),
                "ring_last": In(SLOT_BITS),
                "tail": In(SLOT_BITS),
                "head": Out(SLOT_BITS),
                "acknowledge": In(1),
                "watchdog": In(32),
                "moved": In(1),
                "awaited": In(len(Awaited)),
                "command": In(CommandLayout(config)),
                "command_done": In(1),
                "command_fault": In(Error),
                "command_position": In(8),
                "done": In(1),
                "cast_done": In(1),
                "fault": In(Error),
                "position": In(64),
                "cast_fault": In(1),
                "idle": In(1),
                "command_start": Out(1),
                "activity": Out(Activity),
                "start": Out(1),
                "cast_start": Out(1),
                "descriptor": Out(config.address_bits),
                "halt": Out(1),
                "clear": Out(1, init=1),  # pyright: ignore[reportCallIssue]  (stubs lack it)
                "running": Out(1),
                "active": Out(len(Phase)),
                "busy": Out(1),
                "owed": Out(1),
                "error": Out(Error),
                "error_position": Out(64),
                "error_phase": Out(Phase),
                "finished": Out(1),
                "failed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = self.command
        entering = Signal()  # the first cycle of a state
        begun = ~entering & ~self.start  # what was started says how it is
        casting = Signal()  # the cast has begun and was not done
        cast_over = ~casting | (self.cast_done & ~self.cast_start)
        acknowledged = Signal()  # while answers were awaited
        kept = command.dataflow != Dataflow.FUSED
        copies = command.dataflow == Dataflow.EXPAND_COALESCE
        next_slot = Mux(self.head == self.ring_last, 0, self.head + 1)

        def go(state: str) -> None:
            m.next = state
            m.d.sync += entering.eq(1)

        def backward_once_casted() -> None:
            go("await cast")
            with m.If(cast_over):
                go("backward")

        def reset_datapath() -> None:
            go("reset datapath")
            m.d.sync += self.clear.eq(1)  # a flip-flop: it goes all over the engine

        idle = Signal()  # late, for it comes from afar: still not before what was issued is seen
        m.d.sync += idle.eq(self.idle)
        fault, position, cast_fault = (  # a cycle late, too, and so is `done`
            Signal.like(each, name_suffix="_late")
            for each in (self.fault, self.position, self.cast_fault)
        )
        m.d.sync += [
            fault.eq(self.fault),
            position.eq(self.position),
            cast_fault.eq(self.cast_fault),
        ]
        quiet = Signal(32)  # cycles since something moved
        barked = Signal()
        m.d.sync += [
            quiet.eq(Mux(self.moved | entering, 0, quiet + 1)),
            barked.eq((self.watchdog != 0) & (quiet == self.watchdog) & ~entering),
        ]

        def stop(error, where, phase) -> None:
            m.d.sync += [
                self.error.eq(error),
                self.error_position.eq(where),
                self.error_phase.eq(phase),
            ]
            go("halt")

        def stop_on_fault(phase: Phase, *, fetching: bool = False) -> None:
            """The last word in a state: whatever else it decided, a fault ends the command."""
            with m.If(barked):
                stop(Error.WATCHDOG, self.awaited, phase)
            if fetching:
                with m.If(begun & (self.command_fault != Error.NONE)):
                    stop(self.command_fault, self.command_position, phase)
            with m.If(fault != Error.NONE):
                stop(fault, position, Mux(cast_fault, Phase.CAST, phase))

        def run_phase(phase: Phase, activity: Activity):
            """Lead the main path through a phase; gives the condition of its end."""
            m.d.comb += [self.running.eq(1), self.active[phase].eq(1)]
            m.d.sync += [self.activity.eq(activity), self.start.eq(entering)]
            return begun & self.done

        def start_cast() -> None:
            m.d.sync += [self.cast_start.eq(1), casting.eq(1)]

        m.d.sync += [
            entering.eq(0),
            self.activity.eq(Activity.IDLE),
            self.start.eq(0),
            self.command_start.eq(0),
            self.cast_start.eq(0),
            self.clear.eq(0),
        ]
        m.d.comb += [
            self.descriptor.eq(self.ring_base + (self.head << exact_log2(DESCRIPTOR_BYTES))),
            # `casting` says it all, but Icarus 11 misses the initial value of a register alone.
            self.active[Phase.CAST].eq(self.cast_start | casting),
        ]
        with m.If(cast_over):
            m.d.sync += casting.eq(0)

        with m.FSM() as fsm:
            with m.State("await command"):
                with m.If(self.run & (self.head != self.tail)):
                    go("fetch descriptor")
            with m.State("fetch descriptor"):
                m.d.sync += [
                    self.activity.eq(Activity.COMMAND),
                    self.start.eq(entering),
                    self.command_start.eq(entering),
                ]
                with m.If(begun & self.command_done):
                    go("begin cast")
                    with m.If(command.forward):
                        go("forward")
                stop_on_fault(Phase.FORWARD, fetching=True)
            with m.State("forward"):
                with m.If(entering & command.backward):
                    start_cast()
                with m.If(run_phase(Phase.FORWARD, Activity.FORWARD)):
                    with m.If(~command.backward):
                        go("finish")
                    with m.Elif(copies):
                        go("expand")
                    with m.Else():
                        backward_once_casted()
                stop_on_fault(Phase.FORWARD)
            with m.State("begin cast"):
                m.d.comb += self.running.eq(1)
                start_cast()
                go("await cast")
                with m.If(copies):
                    go("expand")
            with m.State("expand"):
                with m.If(run_phase(Phase.EXPAND, Activity.EXPAND)):
                    backward_once_casted()
                stop_on_fault(Phase.EXPAND)
            with m.State("await cast"):
                m.d.comb += self.running.eq(1)
                with m.If(cast_over):
                    go("backward")
                stop_on_fault(Phase.CAST)
            with m.State("backward"):
                with m.If(run_phase(Phase.BACKWARD, Activity.BACKWARD)):
                    go("finish")
                    with m.If(kept):
                        go("update")
                stop_on_fault(Phase.BACKWARD)
            with m.State("update"):
                with m.If(run_phase(Phase.UPDATE, Activity.UPDATE)):
                    go("finish")
                stop_on_fault(Phase.UPDATE)
            with m.State("finish"):
                m.d.comb += self.finished.eq(1)
                m.d.sync += self.head.eq(next_slot)
                go("await command")
            with m.State("halt"):
                m.d.comb += self.halt.eq(1)
                m.d.sync += acknowledged.eq(0)
                with m.If(~entering & idle):
                    m.d.comb += self.failed.eq(1)
                    reset_datapath()
                with m.Elif(barked):
                    m.d.comb += self.failed.eq(1)
                    go("await answers")
            with m.State("await answers"):
                m.d.comb += [self.halt.eq(1), self.owed.eq(1)]
                with m.If(self.acknowledge):
                    m.d.sync += acknowledged.eq(1)
                with m.If(idle):
                    reset_datapath()
            with m.State("reset datapath"):
                m.d.comb += self.halt.eq(1)
                # For two cycles: the datapath resets parts of it in the second one.
                m.d.sync += [casting.eq(0), self.head.eq(next_slot), self.clear.eq(1)]
                go("stopped")
            with m.State("stopped"):
                with m.If(self.acknowledge | acknowledged):
                    m.d.sync += self.error.eq(Error.NONE)
                    go("await command")
        at_rest = ("await command", "stopped", "await answers")
        m.d.comb += self.busy.eq(~Cat(fsm.ongoing(state) for state in at_rest).any())
        return m
