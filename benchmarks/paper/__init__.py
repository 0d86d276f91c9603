"""The paper, rerun: its table and figures from its datasets, or from close relatives of them."""

from paper.paper_sets import PAPER_SETS, PaperSet
from paper.run import FoundSets, Reproduction, find_sets, reproduce

__all__ = ["PAPER_SETS", "FoundSets", "PaperSet", "Reproduction", "find_sets", "reproduce"]
