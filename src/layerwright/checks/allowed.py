"""Findings that are intended, said in the source: `class Norm(Layer):  # layerwright: allow[rule] the reason`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

PATTERN = re.compile(r"#\s*layerwright:\s*allow\[(?P<names>[^\]]*)\](?P<reason>.*)")


def said_on(line: str, known: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The rules that a comment on a class's line allows, each with its reason, and what is wrong with the comment.

    Args:
        line: The line of the class statement.
        known: Names of all rules, by name and by code.
    """
    allowed: dict[str, str] = {}
    remarks: list[str] = []
    for match in PATTERN.finditer(line):
        reason = match["reason"].split("#")[0].strip()
        for word in (w.strip() for w in match["names"].split(",")):
            name = known.get(word)
            if name is None:
                remarks.append(f"`allow[{word}]` names no rule and is not heeded")
            elif not reason:
                remarks.append(f"`allow[{word}]` gives no reason and is not heeded")
            else:
                allowed[name] = reason
    return allowed, remarks


def names(rules: Collection[tuple[str, str]]) -> dict[str, str]:
    """Rules' names by name and by code, from pairs of both."""
    return {word: name for name, code in rules for word in (name, code)}
