# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The host's way in: two wires, an address space. `frames` says what is sent, `uart` how a byte
goes over a wire, `requests` carries requests out, `link` joins them."""
