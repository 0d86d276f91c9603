"""Choice of a method and of the size of a dictionary: suggestions, comparisons, and a report on invariances."""

from shapelex.selection.comparison import Comparison, compare
from shapelex.selection.invariance_report import InvarianceReport, invariance_report
from shapelex.selection.suggestion import Suggestion, suggest

__all__ = ["Comparison", "InvarianceReport", "Suggestion", "compare", "invariance_report", "suggest"]
