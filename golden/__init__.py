# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The golden model: what castbag computes, in NumPy alone, bit for bit.

The hardware is right when it equals this model. Read the files in this order:

- `batch`: what a batch of bags is, and every reason to refuse one;
- `fp32`: binary32 arithmetic, and the one order in which a sum adds;
- `pooling`: the modes of a bag, and what a lookup gets of the bag's gradient in each;
- `embedding`: the plain meaning of forward and backward (expand, then coalesce);
- `casting`: Tensor Casting, the other way to the same bits;
- `optimizers`: the coalesced gradient applied to the touched rows;
- `step`: a whole training step, or a part of it;
- `traffic`: the bytes that each phase of each dataflow moves.
"""
