"""Sphinx builds the documentation site from the pages where they stand: its source folder is the root of the repository.

cmake --build --preset release --target docs
"""

import os
import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(root / "drivers" / "site"), str(root / "drivers" / "python")]

project = "Trifuse"
author = copyright = "The Trifuse developers"
release = version = re.search(r"project\(trifuse VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "breathe", "doxygen_fortran", "formulas", "python_docstrings", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["*.md", "drivers/site/api_*.md", "*/docs/*.md", "inputs/README.md", "inputs/*/README.md"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
html_math_renderer = "mathml"
highlight_language = "text"  # of blocks that name no language, such as outputs of programs
default_role = "code"        # `name` in a docstring
# A struct of C is also the type of this name, and several headers declare parts of one C++ namespace.
suppress_warnings = ["duplicate_declaration.c", "duplicate_declaration.cpp"]

breathe_projects = {"trifuse": os.environ["TRIFUSE_DOXYGEN_XML"]}
breathe_default_project = "trifuse"
breathe_domain_by_extension = {"h": "c"}

autodoc_mock_imports = ["numpy", "h5py", "pyscf", "matplotlib"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_param = False   # parameters with one meaning stay on one line
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"Trifuse {version}"
html_static_path = ["static"]
html_css_files = ["trifuse.css"]
html_extra_path = ["extra"]
html_show_sourcelink = False
html_copy_source = False


def pages_of_the_site(app, name, source):
    """The contents of the site stand behind the first page, the README. Links to folders, which a browser of the sources shows,
    lead to the page of the folder; if the site has none, they are text."""
    folder = (root / name).parent

    def has_page(of_folder):
        page = (of_folder / "README.md").resolve()
        return page.exists() and any(Path("/", page.relative_to(root)).match("/" + pattern) for pattern in include_patterns)

    def link(match):
        target = folder / match[2]
        if not target.is_dir():
            return match[0]
        return f"[{match[1]}]({match[2].rstrip('/')}/README.md)" if has_page(target) else match[1]

    def page_of_target(match):
        return match[0] + ("/README.md" if has_page(folder / match[2]) else "")

    source[0] = re.sub(r"\[([^\]]+)\]\(([^)#:]+)(?:#[^)]*)?\)", link, source[0])
    # The same for targets that stand at the end of a page.
    source[0] = re.sub(r"^(\[[^\]]+\]: )([^\s#:]+)$", page_of_target, source[0], flags=re.MULTILINE)
    if name == root_doc:
        source[0] += "\n" + (root / "drivers" / "site" / "contents.md").read_text()


def setup(app):
    app.connect("source-read", pages_of_the_site)
