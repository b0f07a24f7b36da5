"""The causal check beside a map: blank where a model looks, and see what becomes of its answer.

Importing this package loads neither torch nor transformers.
"""

from gazelab.attention.causal.blanking import Fill
from gazelab.attention.causal.check import causal_check
from gazelab.attention.causal.result import CausalCheck, CheckPlan, Curve, Curves, Effect

__all__ = ["CausalCheck", "CheckPlan", "Curve", "Curves", "Effect", "Fill", "causal_check"]
