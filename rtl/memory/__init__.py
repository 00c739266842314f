# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The way to memory: requests become AXI4 bursts, and lists of elements become requests.

A request is any run of beats (`RequestLayout`); the ports cut it into bursts and keep each client
free of the others. The lists turn elements of four or eight bytes into beats, or beats into them.
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
