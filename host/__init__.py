# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The host's side: from a trace on disk to a command in memory, and back to a report.

Read the files in this order; data goes the same way:

- `trace`: what a trace file holds, and every reason to refuse one; `readers` make traces;
- `workload`: a trace, a preset and the user's options: one checked training step;
- `buffers`: where each array of a step lies in memory, its padding and its guard zones;
- `device`: what a device is: it takes commands and gives back registers and memory;
- `step`: a workload run on a device and compared with the golden model, bit for bit;
- `activity`: what went on meanwhile, and what bounds a phase;
- `report`: REPORT.json; `tables`: what a terminal shows of it;
- `dram_trace`: the requests to memory, for other simulators;
- `demo`: all of it at once, on real text;
- `cli`: the commands; `files`, `progress` and `listings` serve them;
- `reference`: `castbag.h` and `MAP.md`, made from the map of registers.
"""
