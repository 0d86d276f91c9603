"""The paper, rerun: its table and figures from its datasets, or from close relatives of them."""

from shapelex.report.reproduction.paper_sets import PAPER_SETS, PaperSet
from shapelex.report.reproduction.run import FoundSets, Reproduction, find_sets, reproduce

__all__ = ["PAPER_SETS", "FoundSets", "PaperSet", "Reproduction", "find_sets", "reproduce"]
