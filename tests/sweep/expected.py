"""Errors and warnings that a sound check raises on these layers, by (case, rule), each with the reason.

An entry that no longer occurs fails its test, as does a finding that has no entry.
"""

from __future__ import annotations

from sweep.sweeping import Expectations

KERAS: Expectations = {}
KERAS_RS: Expectations = {}
