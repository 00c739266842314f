# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The `castbag` program: files, keys, exit statuses, and one line for whatever is wrong."""
