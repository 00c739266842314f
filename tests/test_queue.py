# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The queue, in LUT RAM and in block RAM, on both simulators."""

import pytest

from castbag.rtl.queue import Queue
from castbag.sim.bench import simulate
from castbag.sim.model import SIMULATORS
from tests.benches.queue import WIDTH


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("depth", [2, 32, 64])
def test_queue(depth, simulator, tmp_path):
    queue = Queue(WIDTH, depth=depth)
    simulate(
        queue,
        "tests.benches.queue",
        simulator=simulator,
        folder=tmp_path,
        depth=depth,
        latency=queue.latency,
    )


@pytest.mark.parametrize("depth", [0, 1, 3, 48])
def test_depth_is_a_power_of_two(depth):
    with pytest.raises(ValueError, match=f"depth = {depth}: must be a power of two"):
        Queue(WIDTH, depth=depth)
