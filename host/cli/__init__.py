# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `castbag` program: a module for each group of sub-commands, each command thin.

Exit status: 0 right; 1 the RTL differs from the golden model, or broke off; 2 bad input, told in
one line, nothing written; 3 a tool or a board is missing, and how to get it. Results go to standard
output, progress and errors to standard error.
"""

from . import board, demo, lists, run, trace  # noqa: F401  (they add their commands)
from .program import main

__all__ = ["main"]
