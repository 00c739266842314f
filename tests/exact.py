# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Binary32 on bit patterns, in exact arithmetic: with fractions, rounded once an operation.

It shares nothing with the golden model, NumPy's float32 least of all.
"""

from fractions import Fraction
from math import isqrt

SIGN, INFINITY, NAN, ONE = 1 << 31, 0x7F800000, 0x7FC00000, 0x3F800000


def is_nan(pattern):
    return pattern & ~SIGN > INFINITY


def is_infinite(pattern):
    return pattern & ~SIGN == INFINITY


def is_zero(pattern):
    return pattern & ~SIGN == 0


def quiet(pattern):
    """The pattern, or the canonical NaN for any NaN."""
    return NAN if is_nan(pattern) else pattern


def exact(pattern):
    """The value of a finite pattern."""
    exponent, fraction = pattern >> 23 & 0xFF, pattern & 0x7FFFFF
    significand = fraction | (exponent > 0) << 23
    magnitude = significand * Fraction(2) ** (max(exponent, 1) - 150)
    return -magnitude if pattern & SIGN else magnitude


def rounded(value, zero=0):
    """The pattern nearest to `value`, ties to even; that of a zero is `zero`."""
    if value == 0:
        return zero
    sign, magnitude = (SIGN if value < 0 else 0), abs(Fraction(value))
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, -126)
    # `round` takes ties to even. A carry out of the significand moves on into the exponent.
    pattern = (exponent + 126 << 23) + round(magnitude / Fraction(2) ** (exponent - 23))
    return sign | min(pattern, INFINITY)


def add(a, b):
    if is_nan(a) or is_nan(b) or (is_infinite(a) and is_infinite(b) and a != b):
        return NAN
    if is_infinite(a) or is_infinite(b):
        return a if is_infinite(a) else b
    return rounded(exact(a) + exact(b), zero=a & b & SIGN)


def subtract(a, b):
    return add(a, b ^ SIGN)


def multiply(a, b):
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return NAN
    if is_infinite(a) or is_infinite(b):
        return NAN if is_zero(a) or is_zero(b) else sign | INFINITY
    return rounded(exact(a) * exact(b), zero=sign)


def divide(a, b):
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return NAN
    if is_infinite(a):
        return NAN if is_infinite(b) else sign | INFINITY
    if is_infinite(b):
        return sign
    if is_zero(b):
        return NAN if is_zero(a) else sign | INFINITY
    return rounded(exact(a) / exact(b), zero=sign)


def square_root(a):
    if is_nan(a) or (a & SIGN and not is_zero(a)):
        return NAN
    if is_zero(a) or is_infinite(a):
        return a
    square = exact(a) * 4**200  # a whole number, whose root has far more bits than a significand
    root = isqrt(int(square))
    inexact = root * root != square  # then any value up to the next whole number rounds as the root
    return rounded((root + Fraction(inexact, 2)) / 2**200)


def greater(a, b):
    """Whether a > b: never with a NaN, nor for zeros of either sign."""

    def order(pattern):
        return -(pattern & ~SIGN) if pattern & SIGN else pattern

    return not is_nan(a) and not is_nan(b) and order(a) > order(b)


def tree(patterns):
    """The sum over neighbours, then over the neighbours among these sums, and so on."""
    if len(patterns) == 1:
        return quiet(patterns[0])
    half = 1
    while 2 * half < len(patterns):
        half *= 2
    right = patterns[half:] + [0] * (2 * half - len(patterns))
    return add(tree(patterns[:half]), tree(right))
