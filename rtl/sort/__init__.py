# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The index sorter: runs sorted on chip, then merged through memory. `BatchSorter` is all of it.

- `run_sorter`, of `merge` stages: a run of pairs, on chip.
- `run_writer`: all runs but the last one go to memory, packed.
- `run_reader`, `unpacker`: they come back, as many at a time as there are ways.
- `tree`: they become one. As long as they are many that goes to memory again; then
- `merge`, once more: it is merged with the last run, which never left the chip.
"""
