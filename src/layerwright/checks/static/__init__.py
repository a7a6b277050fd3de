"""Checking by reading alone: nothing of the user's is imported or run, and neither Keras nor a framework is.

A `SourceFile` is parsed into functions (`Code`) and classes (`ClassView`); a detector for each rule that the source can
decide looks at a class. Everything that isn't sure is left to the rules that run the layer.
"""

from layerwright.checks.static import detectors as detectors
from layerwright.checks.static.detector import DETECTORS as DETECTORS
from layerwright.checks.static.run import check_file as check_file
