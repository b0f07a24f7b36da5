"""The verbs: live, replay, compare, report."""
