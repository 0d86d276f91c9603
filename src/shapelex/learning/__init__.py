"""Dictionaries learned from shapes."""

from shapelex.learning.descent import Learner, LearningOptions

__all__ = ["Learner", "LearningOptions"]
