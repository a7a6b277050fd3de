"""One module a group of detectors; each detector is registered when its module is imported."""

from layerwright.checks.static.detectors import attributes as attributes
from layerwright.checks.static.detectors import cells as cells
from layerwright.checks.static.detectors import children as children
from layerwright.checks.static.detectors import closures as closures
from layerwright.checks.static.detectors import configs as configs
from layerwright.checks.static.detectors import constructors as constructors
from layerwright.checks.static.detectors import gradients as gradients
from layerwright.checks.static.detectors import host as host
from layerwright.checks.static.detectors import leaving as leaving
from layerwright.checks.static.detectors import masks as masks
from layerwright.checks.static.detectors import methods as methods
from layerwright.checks.static.detectors import models as models
from layerwright.checks.static.detectors import numbers as numbers
from layerwright.checks.static.detectors import randomness as randomness
from layerwright.checks.static.detectors import roundtrip as roundtrip
from layerwright.checks.static.detectors import rows as rows
from layerwright.checks.static.detectors import shapes as shapes
from layerwright.checks.static.detectors import signatures as signatures
from layerwright.checks.static.detectors import tables as tables
from layerwright.checks.static.detectors import tracing as tracing
from layerwright.checks.static.detectors import tracking as tracking
from layerwright.checks.static.detectors import training as training
from layerwright.checks.static.detectors import unused as unused
from layerwright.checks.static.detectors import weights as weights
