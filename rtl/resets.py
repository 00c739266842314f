# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Units with a reset of their own."""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal


def reset_by(m: Module, reset: Signal, *, domain: str) -> DomainRenamer:
    """Has units of `m` reset by `reset` alone, a flip-flop that is high in any other reset, too.

    A reset that goes all over the device has no time left for a gate. `domain` is a name for what
    is reset, a local clock domain.
    """
    m.domains += ClockDomain(domain, local=True)
    m.d.comb += [ClockSignal(domain).eq(ClockSignal()), ResetSignal(domain).eq(reset)]
    return DomainRenamer(domain)
