"""Settings of the documentation."""

import shapelex

project = "shapelex"
author = "The shapelex developers"
release = version = shapelex.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "shapelex"
html_sidebars = {"**": []}
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}

autosummary_generate = True
templates_path = ["_templates"]
# The class template lists the members with their docstrings; numpydoc would list them once more.
numpydoc_show_class_members = False
autodoc_typehints = "none"
# No TeX in the pages: MathJax would be fetched from the network when they are read.
myst_enable_extensions = []
nitpicky = False
# Methods that come from scikit-learn point into its own documentation, which is not part of this one.
suppress_warnings = ["ref.ref", "ref.term"]
