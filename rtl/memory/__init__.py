# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The way to memory: requests become AXI4 bursts, and lists of elements become requests.

A request is any run of beats (`RequestLayout`); the ports cut it into bursts and keep each client
free of the others. The lists turn elements of four or eight bytes into beats, or beats into them.

Nothing is read that is still being written, by construction:

- A phase is done once all its writes have been answered, and whatever a phase reads was written by
  the host or by phases that were done before it began. A merge pass of the sort likewise reads one
  half of the scratch space, and begins once all writes to it have been answered.
- While rows are updated, each is read once, and written once from what was read: rows are distinct,
  since the cast has made one segment of all lookups of a row. No later read of the phase names it.
"""

from .lists import ListReader, ListStartLayout, ListWriter
from .read_port import ReadClient, ReadPort
from .write_port import WriteClient, WritePort

__all__ = [
    "ListReader",
    "ListStartLayout",
    "ListWriter",
    "ReadClient",
    "ReadPort",
    "WriteClient",
    "WritePort",
]
