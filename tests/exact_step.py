# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A training step, one lookup at a time, on lists of bit patterns: what the golden model must give.

Written from the contract alone. Its loops are plain Python, and so is its arithmetic (`exact`).
"""

from functools import reduce

from tests.exact import (
    ONE,
    SIGN,
    add,
    divide,
    greater,
    multiply,
    quiet,
    rounded,
    square_root,
    subtract,
    tree,
)


def bags_of(batch):
    """For every bag, the (position, row) of its valid lookups."""
    return [
        [
            (position, row)
            for position in range(batch.offsets[bag], batch.offsets[bag + 1])
            if 0 <= (row := int(batch.indices[position])) < batch.rows and row != batch.padding_idx
        ]
        for bag in range(batch.bags)
    ]


def first_of_the_largest(lookups, table, column):
    """The (position, row) that has the maximum of a bag with lookups."""
    kept, *rest = lookups
    for lookup in rest:
        if greater(table[lookup[1]][column], table[kept[1]][column]):
            kept = lookup
    return kept


def pool(lookups, table, column, mode, weights):
    """One element of a pooled vector."""
    if not lookups:
        return 0
    if mode == "max":
        _, row = first_of_the_largest(lookups, table, column)
        return quiet(table[row][column])
    terms = [table[row][column] for _, row in lookups]
    if weights is not None:
        terms = [
            multiply(weights[position], term)
            for (position, _), term in zip(lookups, terms, strict=True)
        ]
    total = reduce(add, terms, 0)
    return multiply(total, divide(ONE, rounded(len(lookups)))) if mode == "mean" else total


def shares(lookups, table, grad, column, mode, weights):
    """(row, share) of a bag's gradient in a column; what wins nothing in mode max has no share."""
    if mode == "max":
        return [(first_of_the_largest(lookups, table, column)[1], grad)]
    if mode == "mean":
        grad = multiply(grad, divide(ONE, rounded(len(lookups))))
    return [
        (row, grad if weights is None else multiply(weights[position], grad))
        for position, row in lookups
    ]


def optimized(optimizer, w, g, s, lr, eps, decay):
    """A row and its state after the update."""
    if decay & ~SIGN and optimizer != "none":
        g = [add(gradient, multiply(decay, weight)) for gradient, weight in zip(g, w, strict=True)]
    if optimizer == "sgd":
        steps = [multiply(lr, gradient) for gradient in g]
    elif optimizer == "rowwise-adagrad":
        mean = divide(tree([multiply(gradient, gradient) for gradient in g]), rounded(len(g)))
        s = add(s, mean)
        multiplier = divide(lr, add(square_root(s), eps))
        steps = [multiply(multiplier, gradient) for gradient in g]
    elif optimizer == "adagrad":
        squares = [multiply(gradient, gradient) for gradient in g]
        s = [add(old, square) for old, square in zip(s, squares, strict=True)]
        steps = [
            divide(multiply(lr, gradient), add(square_root(new), eps))
            for gradient, new in zip(g, s, strict=True)
        ]
    else:
        return w, s
    return [subtract(weight, step) for weight, step in zip(w, steps, strict=True)], s


def exact_step(table, grad, batch, mode, weights, optimizer, rates, state):
    """Pooled, coalesced by row, table, state and the weights' gradient, all as patterns."""
    columns = range(len(table[0]))
    pooled, coalesced, weights_grad = [], {}, [0] * batch.lookups
    for lookups, bag_grad in zip(bags_of(batch), grad, strict=True):
        pooled.append([pool(lookups, table, column, mode, weights) for column in columns])
        for position, row in lookups:
            coalesced.setdefault(row, [0 for _ in columns])
            weights_grad[position] = tree(list(map(multiply, bag_grad, table[row])))
        for column in columns if lookups else ():
            for row, share in shares(lookups, table, bag_grad[column], column, mode, weights):
                coalesced[row][column] = add(coalesced[row][column], share)
    updated, new_state = list(table), None if state is None else list(state)
    for row, gradient in coalesced.items():
        before = None if state is None else state[row]
        updated[row], after = optimized(optimizer, table[row], gradient, before, *rates)
        if new_state is not None:
            new_state[row] = after
    return pooled, coalesced, updated, new_state, None if weights is None else weights_grad
