"""Kernels: plain Python loops as native operations of TensorFlow, JAX and PyTorch."""

from layerwright.kernels.kernel import Kernel as Kernel
from layerwright.kernels.kernel import kernel as kernel
from layerwright.kernels.native import register as register
