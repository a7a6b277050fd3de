"""The user's code in a worker: files, modules and saved models, and what they hold to check."""

from layerwright.checks.found import Found as Found
from layerwright.checks.found import subject_of as subject_of
from layerwright.checks.found import subjects_in as subjects_in
from layerwright.checks.modules import Loaded as Loaded
from layerwright.checks.modules import load_file as load_file
from layerwright.checks.modules import load_module as load_module
from layerwright.checks.modules import module_name as module_name
from layerwright.checks.modules import why_missing as why_missing
from layerwright.checks.running import CannotLoad as CannotLoad
from layerwright.checks.saved import load_model as load_model
