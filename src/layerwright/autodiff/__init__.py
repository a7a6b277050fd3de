"""Derivatives of plain Python loops, as plain Python loops."""

from layerwright.autodiff.derive import Derivative as Derivative
from layerwright.autodiff.derive import derive as derive
from layerwright.autodiff.generated import Derived as Derived
from layerwright.autodiff.rules import rule as rule
from layerwright.autodiff.rules import stop_gradient as stop_gradient
from layerwright.autodiff.rules import straight_through as straight_through
