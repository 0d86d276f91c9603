"""Coding on torch devices; what needs torch is loaded only when one is used, as torch is optional."""
