"""How ``make docs`` builds the pages: Markdown by MyST, the reference from docstrings, nothing from the network."""

from __future__ import annotations

import sys
from pathlib import Path

import tiltfit

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "tiltfit"
author = "The tiltfit authors"
copyright = author
version = release = tiltfit.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "page_examples",  # runs what the pages show
]
exclude_patterns = ["_extensions", "README.md"]
nitpicky = True
nitpick_ignore = [
    ("py:class", "tiltfit.methods.method.NoOptions"),  # the default of Method(options=): nothing to read
    ("py:obj", "sharpness_"),  # a property that the Attributes sections describe, without an entry of its own
]

# Markdown
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# Docstrings: signatures show names and defaults; types stand in the Parameters sections.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "tiltfit"
html_static_path = ["_static"]
html_css_files = ["tiltfit.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "tiltfit"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
