# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Output files: all of a command's, or none; and what makes one refuse its input."""

import contextlib
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Refused(ValueError):  # noqa: N818  (the input's fault, not the program's)
    """Bad input. The message is one line: what is wrong, where, and what would be right."""


def check_writable(*paths: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any long work, a path that cannot become a file; None is no path.

    Raises `Refused` for a missing or unwritable folder, a folder given as a file, and a path that
    is named twice or is one of the `inputs`.
    """
    seen = {path.resolve() for path in inputs}
    for path in paths:
        if path is None:
            continue
        folder = path.parent
        if not folder.is_dir():
            raise Refused(f"{path}: there is no folder {folder}")
        if path.is_dir():
            raise Refused(f"{path}: is a folder; it must be a file")
        if not os.access(folder, os.W_OK):
            raise Refused(f"{path}: folder {folder} cannot be written to")
        if path.resolve() in seen:
            raise Refused(f"{path}: named twice; each file needs a name of its own")
        seen.add(path.resolve())


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write every file, or none: each beside its place first, then all moved there.

    A reader never sees half a file. Raises `Refused` where the system refuses.
    """
    beside = {path: path.with_name(f".{path.name}.{os.getpid()}") for path in contents}
    try:
        for path, content in contents.items():
            beside[path].write_bytes(content)
        for path, temporary in beside.items():
            temporary.replace(path)
    except OSError as error:
        raise Refused(f"{error.filename}: cannot be written: {error.strerror}") from None
    finally:
        for temporary in beside.values():
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def npz(arrays: Mapping[str, Any]) -> bytes:
    """The bytes of an npz file of `arrays`; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()
