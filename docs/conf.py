"""Settings of the documentation."""

import sys
from pathlib import Path

import shapelex

sys.path.append(str(Path(__file__).parent / "_ext"))

project = "shapelex"
author = "The shapelex developers"
release = version = shapelex.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_static_path = ["_static"]
html_theme = "pydata_sphinx_theme"
html_title = "shapelex"
html_sidebars = {"**": []}
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}

autosummary_generate = True
templates_path = ["_templates"]
# The class template lists the members with their docstrings; numpydoc would list them once more.
numpydoc_show_class_members = False
autodoc_typehints = "none"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2
# A dollar sign with a space or a digit beside it is money or a prompt.
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
html_math_renderer = "mathml"
nitpicky = False
# Methods that come from scikit-learn point into its own documentation, which is not part of this one.
suppress_warnings = ["ref.ref", "ref.term"]
