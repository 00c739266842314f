# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The machine, in Amaranth. Follow a lookup: pairs, sorter, caster, interleave, fetch, reduce,
update, writer; `engine` joins them, `control` drives them, `memory` carries them."""
