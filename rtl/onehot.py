# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Values of which one bit says which."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Value


def lowest(bits: Value) -> Value:
    """`bits` with only its lowest set bit kept."""
    return Cat(bits[k] & ~bits[:k].any() for k in range(len(bits)))


def chosen(one_hot: Value, values: Sequence) -> Value:
    """The one of `values` that `one_hot` marks; all zeros if none."""
    chosen = Const(0)
    for k, value in enumerate(values):
        bits = Value.cast(value)
        chosen = chosen | (bits & one_hot[k].replicate(len(bits)))
    return chosen


def encoded(one_hot: Value) -> Value:
    """The position of the set bit."""
    count = len(one_hot)
    return chosen(one_hot, [Const(k, range(count)) for k in range(count)])
