"""Derivatives: of a loop by `derive`, of a function of your own by `rule`, and where to stop."""

from layerwright.autodiff import Derivative as Derivative
from layerwright.autodiff import derive as derive
from layerwright.autodiff import rule as rule
from layerwright.autodiff import stop_gradient as stop_gradient
from layerwright.autodiff import straight_through as straight_through
