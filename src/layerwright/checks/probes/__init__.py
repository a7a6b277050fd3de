"""Probes: what a layer does when it is called, traced, saved, differentiated and run in other dtypes.

Each probe is a cached property of the laboratory (`layerwright.checks.lab.Lab`), so that it runs once for
all rules; each returns an `Attempt`.
"""
