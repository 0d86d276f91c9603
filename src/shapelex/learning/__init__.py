"""Dictionaries learned from shapes: statistics, updates, first dictionaries, and the descents over them."""

from shapelex.learning.descent import Learner, learn
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.online import OnlineLearner
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey, survey
from shapelex.learning.states import Iteration, LearnedDictionary, LearnerState
from shapelex.learning.statistics import Statistics
from shapelex.learning.update import find_idle, mutual_coherences, replace_atoms, solve_mod, update_mod

__all__ = [
    "Iteration",
    "LearnedDictionary",
    "Learner",
    "LearnerState",
    "LearningOptions",
    "OnlineLearner",
    "Statistics",
    "Survey",
    "find_idle",
    "initial_atoms",
    "learn",
    "mutual_coherences",
    "replace_atoms",
    "solve_mod",
    "survey",
    "update_mod",
]
