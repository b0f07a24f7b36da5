"""Ways to make a map of where a model looks, beyond the attention of a trace.

`METHODS` is the table of names; `offers(model)` says which a model can do, and why not; `make_map` makes one.
Importing this package loads neither torch nor transformers.
"""

from gazelab.attention.methods.make import Offer, make_map, offers, refuse_what_cannot_be_had
from gazelab.attention.methods.table import METHODS, NEUTRAL_QUESTION, MethodEntry, MethodName, method_of

__all__ = [
    "METHODS",
    "NEUTRAL_QUESTION",
    "MethodEntry",
    "MethodName",
    "Offer",
    "make_map",
    "method_of",
    "offers",
    "refuse_what_cannot_be_had",
]
