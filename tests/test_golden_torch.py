# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The golden model against PyTorch on the CPU, a library that is not ours.

Bit for bit where PyTorch does the same operations in the same order:

- the forward sum and maximum, and the backward pass of the maximum, for any batch;
- whatever is exact, and so does not depend on the order: small whole numbers, products with powers
  of two, the sum of a row's two shares;
- SGD, and Adagrad in its fused form.

Elsewhere within a bound on rounding, since PyTorch fuses a weight's product with its addition,
divides by the count for a mean, adds the shares of a row in the order of an unstable sort, sums
columns in another order, and takes Adagrad's root, if not fused, from a library that is a unit off
for one number in six.

Two things of PyTorch are not ours. A last offset short of n is refused here (test_golden_batch):
there the lookups beyond belong to no bag forward, but get a gradient from past the end of the
bags'. And there is no `scale_grad_by_freq`.
"""

import os
import platform

import numpy as np
import pytest

from castbag.golden.batch import Batch
from castbag.golden.fp32 import bits, canonical
from castbag.golden.optimizers import Rates, update
from castbag.golden.step import step

os.environ["ATEN_CPU_CAPABILITY"] = "default"  # read at import: kernels without multiply-add
torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed; make setup does it where pip finds a CPU wheel"
)
pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="elsewhere than on x86, all of PyTorch's kernels fuse multiply-add",
)

UNIT = 2.0**-24
"""The largest relative error of one rounding."""
DIMS = [1, 3, 4, 17, 64]


def drawn(seed, *, dim, lookups=400, bags=40, rows=30, padding_idx=None):
    """A batch with empty bags, a table and a gradient."""
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.integers(0, lookups, bags)) * (np.arange(bags) > 0)
    batch = Batch.of(rng.integers(0, rows, lookups), offsets, rows=rows, padding_idx=padding_idx)
    table = rng.standard_normal((rows, dim), dtype=np.float32)
    return rng, batch, table, rng.standard_normal((bags, dim), dtype=np.float32)


def in_pairs(seed, *, dim, pooling=4):
    """The same, but every row is looked up twice, and every bag has as many lookups."""
    rng = np.random.default_rng(seed)
    rows = 20 * pooling
    indices = rng.permutation(np.repeat(np.arange(rows), 2))
    batch = Batch.of(indices, np.arange(0, indices.size, pooling), rows=rows)
    table = rng.standard_normal((rows, dim), dtype=np.float32)
    return rng, batch, table, rng.standard_normal((batch.bags, dim), dtype=np.float32)


def powers_of_two(rng, count):
    return (rng.choice([-1, 1], count) * 2.0 ** rng.integers(-4, 5, count)).astype(np.float32)


def in_torch(table, grad, batch, mode, weights):
    """Pooled vectors, the table's gradient f32[N, D] and the weights' gradient, by PyTorch."""
    leaf = torch.tensor(table, requires_grad=True)
    factors = None if weights is None else torch.tensor(weights, requires_grad=True)
    pooled = torch.nn.functional.embedding_bag(
        torch.tensor(batch.indices),
        leaf,
        torch.tensor(batch.offsets),
        mode=mode,
        per_sample_weights=factors,
        padding_idx=batch.padding_idx,
        include_last_offset=True,
    )
    pooled.backward(torch.tensor(grad))
    weights_grad = None if factors is None else factors.grad.numpy()
    return pooled.detach().numpy(), leaf.grad.numpy(), weights_grad


def in_castbag(table, grad, batch, mode, weights):
    """The same by the golden model."""
    result = step(table, grad, batch, mode=mode, per_sample_weights=weights, optimizer="none")
    dense = np.zeros_like(table)
    dense[result.unique_rows] = result.coalesced
    return result.pooled, dense, result.per_sample_weights_grad


def assert_same_bits(ours, theirs):
    np.testing.assert_array_equal(bits(ours), bits(canonical(theirs)))


def assert_close(ours, theirs, bound):
    """Within `bound`, which is one for each number."""
    assert np.all(np.abs(ours.astype(float) - theirs.astype(float)) <= bound)


def magnitudes(batch, factors, vectors, take, give, count):
    """Sums of |factor * vector[take]| over lookups, by `give`, in binary64; and their addends."""
    sums = np.zeros((count, vectors.shape[1]))
    valid = batch.valid
    terms = np.abs(factors[valid, None].astype(float) * vectors[take[valid]])
    np.add.at(sums, give[valid], terms)
    return sums, np.bincount(give[valid], minlength=count)[:, None]


# --- the passes, bit for bit ---------------------------------------------------------------------


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("padding_idx", [None, 3])
def test_sums_and_maxima_are_the_same(dim, padding_idx):
    _, batch, table, grad = drawn(1, dim=dim, padding_idx=padding_idx)
    ours, theirs = (run(table, grad, batch, "sum", None) for run in (in_castbag, in_torch))
    assert_same_bits(ours[0], theirs[0])
    ours, theirs = (run(table, grad, batch, "max", None) for run in (in_castbag, in_torch))
    assert_same_bits(ours[0], theirs[0])
    assert_same_bits(ours[1], theirs[1])


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("mode", ["sum", "mean", "weighted"])
def test_two_shares_a_row_have_one_sum(dim, mode):
    rng, batch, table, grad = in_pairs(2, dim=dim)  # bags of 4, so that a mean is exact, too
    weights = powers_of_two(rng, batch.lookups) if mode == "weighted" else None
    mode = "sum" if mode == "weighted" else mode
    ours, theirs = (run(table, grad, batch, mode, weights) for run in (in_castbag, in_torch))
    assert_same_bits(ours[0], theirs[0])
    assert_same_bits(ours[1], theirs[1])


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
@pytest.mark.parametrize("padding_idx", [None, 3])
def test_whole_numbers_have_one_result(dim, mode, padding_idx):
    rng, batch, _, _ = drawn(3, dim=dim, padding_idx=padding_idx)
    if mode == "mean":  # of 8 lookups, or of none
        indices = rng.integers(0, batch.rows, 400)
        batch = Batch.of(indices, np.repeat(np.arange(0, 400, 8), 2), rows=batch.rows)
    table = rng.integers(-50, 50, (batch.rows, dim)).astype(np.float32)
    grad = 8 * rng.integers(-50, 50, (batch.bags, dim)).astype(np.float32)
    weights = rng.integers(-9, 9, batch.lookups).astype(np.float32)
    weights = weights if mode == "weighted" else None
    mode = "sum" if mode == "weighted" else mode
    ours, theirs = (run(table, grad, batch, mode, weights) for run in (in_castbag, in_torch))
    for mine, other in zip(ours, theirs, strict=True):
        if mine is not None:
            np.testing.assert_array_equal(mine, other)  # but for the sign of a zero


@pytest.mark.parametrize("indices", [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 1, 2, 2], [3, 4], [4, 3]])
def test_ties_zeros_and_nans_of_a_maximum(indices):
    table = np.array([[np.nan], [2], [4], [-0.0], [0]], np.float32)
    batch, grad = Batch.of(indices, [0], rows=5), np.ones((1, 1), np.float32)
    ours, theirs = (run(table, grad, batch, "max", None) for run in (in_castbag, in_torch))
    assert_same_bits(ours[0], theirs[0])
    assert_same_bits(ours[1], theirs[1])


# --- the passes, within a bound ------------------------------------------------------------------


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_in_any_order_are_close(dim, padding_idx, weighted):
    """A sum of k products is off by k roundings of each addend at most, here and there."""
    rng, batch, table, grad = drawn(4, dim=dim, padding_idx=padding_idx)
    weights = rng.standard_normal(batch.lookups, dtype=np.float32)
    given = weights if weighted else None
    factors = weights if weighted else np.ones_like(weights)
    ours, theirs = (run(table, grad, batch, "sum", given) for run in (in_castbag, in_torch))
    rows, bags = batch.indices, batch.bag_of

    size, addends = magnitudes(batch, factors, table, rows, bags, batch.bags)
    assert_close(ours[0], theirs[0], 2.01 * UNIT * addends * size)
    size, addends = magnitudes(batch, factors, grad, bags, rows, batch.rows)
    assert_close(ours[1], theirs[1], 2.01 * UNIT * addends * size)
    if weighted:
        size = np.abs(grad[bags].astype(float) * table[rows]).sum(axis=1)
        assert_close(ours[2], theirs[2], 2.01 * UNIT * dim * size)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("padding_idx", [None, 3])
def test_means_are_close(dim, padding_idx):
    """The sums are the same; ours then rounds 1/count and a product, PyTorch one quotient."""
    _, batch, table, grad = drawn(5, dim=dim, padding_idx=padding_idx)
    ours, theirs = (run(table, grad, batch, "mean", None) for run in (in_castbag, in_torch))
    assert_close(ours[0], theirs[0], 3.01 * UNIT * np.abs(theirs[0]))

    counts = np.bincount(batch.bag_of[batch.valid], minlength=batch.bags)
    factors = 1 / np.maximum(counts, 1)[batch.bag_of]
    size, addends = magnitudes(batch, factors, grad, batch.bag_of, batch.indices, batch.rows)
    assert_close(ours[1], theirs[1], 2.01 * UNIT * (addends + 2) * size)


# --- optimizers ----------------------------------------------------------------------------------


def optimizer_in_torch(kind, table, gradient, state, **rates):
    """The table, and Adagrad's state, after one step of a `torch.optim` optimizer."""
    leaf = torch.nn.Parameter(torch.tensor(table))
    leaf.grad = torch.tensor(gradient)
    optimizer = kind([leaf], **rates)
    if state is not None:
        optimizer.state[leaf]["sum"].copy_(torch.tensor(state))
    optimizer.step()
    moved = None if state is None else optimizer.state[leaf]["sum"].numpy()
    return leaf.detach().numpy(), moved


def touched_rows(seed, dim):
    """A table, its gradient and a state of Adagrad, all of whose rows are touched."""
    rng = np.random.default_rng(seed)
    table, gradient = rng.standard_normal((2, 100, dim), dtype=np.float32)
    return table, gradient, rng.random((100, dim), dtype=np.float32), np.arange(100)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_sgd_is_the_same(dim, decay):
    table, gradient, _, rows = touched_rows(6, dim)
    rates = Rates.of(lr=0.05, eps=0.0, weight_decay=decay)
    ours, _ = update("sgd", table, None, rows, gradient, rates)
    theirs, _ = optimizer_in_torch(
        torch.optim.SGD, table, gradient, None, lr=0.05, weight_decay=decay
    )
    assert_same_bits(ours, theirs)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_fused_adagrad_is_the_same(dim, decay):
    table, gradient, state, rows = touched_rows(7, dim)
    chosen = {"lr": 0.05, "eps": 1e-6, "weight_decay": decay}
    ours = update("adagrad", table, state, rows, gradient, Rates.of(**chosen))
    theirs = optimizer_in_torch(torch.optim.Adagrad, table, gradient, state, fused=True, **chosen)
    assert_same_bits(ours[0], theirs[0])
    assert_same_bits(ours[1], theirs[1])


@pytest.mark.parametrize("foreach", [False, True])
def test_adagrad_that_is_not_fused_is_the_same_but_for_its_root(foreach):
    table, gradient, state, rows = touched_rows(8, 17)
    chosen = {"lr": 0.05, "eps": 1e-6, "weight_decay": 0.01}
    ours = update("adagrad", table, state, rows, gradient, Rates.of(**chosen))
    theirs = optimizer_in_torch(
        torch.optim.Adagrad, table, gradient, state, foreach=foreach, **chosen
    )
    assert_same_bits(ours[1], theirs[1])
    # A root that is a unit (two roundings) off, its sum with eps, a quotient; then the difference.
    moved = np.abs(ours[0].astype(float) - table) + UNIT * np.abs(table)
    assert_close(ours[0], theirs[0], 2.01 * UNIT * (4 * moved + np.abs(ours[0])))

    # Whole roots are exact: 3^2 + 4^2 = 5^2. Then the order of the rest is the same, too.
    times = np.random.default_rng(9).integers(1, 100, table.shape).astype(np.float32)
    chosen["weight_decay"] = 0.0
    gradient, state = 3 * times, 16 * times**2
    ours = update("adagrad", table, state, rows, gradient, Rates.of(**chosen))
    theirs = optimizer_in_torch(
        torch.optim.Adagrad, table, gradient, state, foreach=foreach, **chosen
    )
    assert_same_bits(ours[0], theirs[0])
    assert_same_bits(ours[1], theirs[1])


@pytest.mark.parametrize("dim", DIMS)
def test_rowwise_adagrad_is_close_to_the_formula(dim):
    """PyTorch itself has none: FBGEMM's formula, evaluated by PyTorch in binary64."""
    table, gradient, state, rows = touched_rows(10, dim)
    state = state[:, 0].copy()
    rates = Rates.of(lr=0.05, eps=1e-6, weight_decay=0.0)
    ours = update("rowwise-adagrad", table, state, rows, gradient, rates)
    w, g, s = (torch.tensor(array, dtype=torch.float64) for array in (table, gradient, state))
    s = s + g.square().mean(dim=1)
    moved = (float(np.float32(0.05)) / (s.sqrt() + 1e-6))[:, None] * g
    depth = (dim - 1).bit_length()  # of the tree; then a square, a quotient and a sum
    assert_close(ours[1], s.numpy(), 1.01 * UNIT * (depth + 3) * s.numpy())
    # Half of the state's error, since it is under a root; the root itself, eps twice, two more.
    bound = 1.01 * UNIT * ((depth / 2 + 7) * moved.abs() + (w - moved).abs()).numpy()
    assert_close(ours[0], (w - moved).numpy(), bound)
