"""Dictionaries learned from shapes."""
