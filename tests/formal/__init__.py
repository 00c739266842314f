# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Specifications that are proved of a unit, whatever enters it, and what proves them."""
