"""Derivatives of plain Python loops, as plain Python loops.

A small compiler from Python's syntax trees to Python's text. It knows nothing of Numba or of a framework; types come
from an oracle (`types`); what it doesn't take is refused at the user's line. The passes, in their order:

| pass | what it does |
|---|---|
| `sources` | a function's tree, its lines, and what its names mean |
| `fence` | refuses what has no derivative here |
| `inline` (`returns`) | calls of the user's own functions become what they do |
| `desugar` | few kinds of assignment and of loop |
| `arrays` (`elements`, `lenses`) | whole arrays become loops, rows and slices become indices |
| `types` | the type of every variable |
| `flatten` | small steps: one call, or arithmetic of small factors |
| `forward` (`activity`, `calculus`, `rules`) | tangents beside the numbers; `elementwise` makes gradients of them |
| `returns`, `hoist`, `exits` | for reverse mode: blocks that run from first to last line, arrays made once |
| `adjoint` | the reverse of every assignment |
| `indexing`, `recompute`, `record`, `dead`, `order` | what is taped, computed again, left out, kept in order |
| `sweeps` (`tape`) | the sweep forward and the sweep backward |
| `writer`, `generated` | the text with its comments, and the function |

`derive` is the entry, `gufunc` puts the passes of reverse mode together, `second` the second order.
"""

from layerwright.autodiff.derive import Derivative as Derivative
from layerwright.autodiff.derive import derive as derive
from layerwright.autodiff.generated import Derived as Derived
from layerwright.autodiff.rules import rule as rule
from layerwright.autodiff.rules import stop_gradient as stop_gradient
from layerwright.autodiff.rules import straight_through as straight_through
