"""Settings of the documentation."""

import inspect
import os
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import shapelex

HERE = Path(__file__).parent
sys.path.append(str(HERE / "_ext"))

project = "shapelex"
author = "The shapelex developers"
copyright = author
release = version = shapelex.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "results", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = f"shapelex {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "**": ["sidebar-nav-bs"]}
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}

autosummary_generate = True
# The class template lists the members with their docstrings; numpydoc would list them once more.
numpydoc_show_class_members = False
autodoc_typehints = "none"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
# A dollar sign with a space or a digit beside it is money or a prompt.
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
html_math_renderer = "mathml"
myst_heading_anchors = 3
nitpicky = True

# Sphinx reads compressed inventories of other projects. Ours are text files with the names that our pages link to, in
# the format of Sphinx: name, role, priority, address, title. Nothing is downloaded.
_SITES = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
    "matplotlib": "https://matplotlib.org/stable",
    "sklearn": "https://scikit-learn.org/stable",
}


def _write_inventory(name: str) -> str:
    """Compress a text inventory, and return its path."""
    lines = ["Sphinx inventory version 2", f"Project: {name}", "Version:", "The remainder is compressed using zlib."]
    head = "".join(f"# {line}\n" for line in lines)
    target = HERE / "_build" / "inventories" / f"{name}.inv"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(head.encode() + zlib.compress((HERE / "_inventories" / f"{name}.txt").read_bytes()))
    return str(target)


intersphinx_mapping = {name: (address, _write_inventory(name)) for name, address in _SITES.items()}

# Cards and tutorials are run when the documentation is built. Statistics, sequences and classification have their place
# in these lists once there are scripts for them: a section is a folder.
_SECTIONS = [
    "shapes",
    "distances",
    "registration",
    "dictionaries",
    "coding",
    "classification",
    "groups",
    "large",
    "figures",
    "theory",
]

sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "../tutorials"],
    "gallery_dirs": ["gallery", "tutorials"],
    "subsection_order": [f"../examples/{name}" for name in _SECTIONS],
    "filename_pattern": r"[/\\]plot_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "nested_sections": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    # What is printed is shown; of other values, only those that have a view in notebooks.
    "capture_repr": ("_repr_html_",),
    # Some names have no example.
    "log_level": {"backreference_missing": "info"},
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 336),
    "reset_modules": ("matplotlib",),
    "matplotlib_animations": False,
    "doc_module": ("shapelex",),
    "reference_url": {"shapelex": None},
    "backreferences_dir": "reference/backreferences",
    "inspect_global_variables": False,
}
os.environ.setdefault("MPLBACKEND", "Agg")


def _skip_routing(_app: object, _what: str, name: str, *_rest: object) -> bool | None:
    """Leave out the methods for metadata routing that scikit-learn adds to every estimator."""
    return True if name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name) else None


def _show_constructor(_app: object, what: str, _name: str, obj: Any, *_rest: object) -> tuple[str, None] | None:
    """Show the parameters of estimators: those of ``__init__``, not of ``__new__``, which only checks their names."""
    if what != "class" or not hasattr(obj, "get_params"):
        return None
    parameters = list(inspect.signature(obj.__init__).parameters.values())[1:]
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    return str(inspect.Signature(plain)), None


def setup(app: Any) -> None:
    """Register the functions above."""
    app.connect("autodoc-skip-member", _skip_routing)
    app.connect("autodoc-process-signature", _show_constructor)
