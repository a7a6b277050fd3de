"""The user's code in a worker: files, modules and saved models, and what they hold to check."""

from layerwright.checks.loading.found import Found as Found
from layerwright.checks.loading.found import subject_of as subject_of
from layerwright.checks.loading.found import subjects_in as subjects_in
from layerwright.checks.loading.modules import Loaded as Loaded
from layerwright.checks.loading.modules import load_file as load_file
from layerwright.checks.loading.modules import load_module as load_module
from layerwright.checks.loading.modules import module_name as module_name
from layerwright.checks.loading.modules import why_missing as why_missing
from layerwright.checks.loading.running import CannotLoad as CannotLoad
from layerwright.checks.loading.saved import load_model as load_model
