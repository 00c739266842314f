# SPDX-FileCopyrightText: castbag contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The demo's input: real text that is on every machine with Python.

`pydoc_data.topics` is the text behind `help("assert")` and the like. A bag is a paragraph, a row a
word: real words have the skew that casting lives on.
"""

import re
from pydoc_data.topics import topics

from .readers import Ids, from_bags
from .trace import Trace

DIM = 64

LOOKUPS = 4096
"""At most so many: a step that is simulated in seconds."""

WORD = re.compile(r"[^\W\d_]+")
"""Letters, as many as stand together."""


def topics_trace(most_lookups: int) -> tuple[Trace, Ids]:
    """The first paragraphs, in order of topic, that have `most_lookups` words at most.

    Words are made of letters and lower-cased; paragraphs are what empty lines separate, and those
    without words are left out. Bags are named after topic and paragraph: `assert 1`.
    """
    bags: list[list[str]] = []
    names: list[str] = []
    lookups = 0
    for topic in sorted(topics):
        for number, paragraph in enumerate(re.split(r"\n\s*\n", topics[topic]), start=1):
            words = WORD.findall(paragraph.lower())
            lookups += len(words)
            if lookups > most_lookups:
                return from_bags(bags, name="demo", bag_names=names)
            if words:
                bags.append(words)
                names.append(f"{topic} {number}")
    return from_bags(bags, name="demo", bag_names=names)
