"""Choosing a method and the size of a dictionary: suggestions, comparisons, and what matters for a set of shapes."""

from shapelex.selection.comparison import Comparison, compare
from shapelex.selection.invariance_report import InvarianceReport, invariance_report
from shapelex.selection.suggestion import Suggestion, suggest

__all__ = ["Comparison", "InvarianceReport", "Suggestion", "compare", "invariance_report", "suggest"]
