"""Dictionaries learned from shapes."""

from shapelex.learning.descent import Learner
from shapelex.learning.options import LearningOptions

__all__ = ["Learner", "LearningOptions"]
