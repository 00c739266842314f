# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The index sorter: runs sorted on chip, then merged through memory.

pairs -> RunSorter -+-> RunWriter -> memory -> RunReader -> MergeTree -+-> sorted pairs
                    |                   ^                              |
                    +-- the last run ---|--------> (a way of the tree) |
                                        +------------ RunWriter <------+ (more passes)
"""
