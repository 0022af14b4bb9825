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

extensions = ["myst_parser", "breathe", "doxygen_fortran", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "drivers/site/index"
include_patterns = ["drivers/site/*.md", "*/docs/*.md", "inputs/README.md", "inputs/*/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
myst_heading_anchors = 3
# A struct of C is also the type of this name, and several headers declare parts of one C++ namespace.
suppress_warnings = ["duplicate_declaration.cpp"]

breathe_projects = {"trifuse": os.environ["TRIFUSE_DOXYGEN_XML"]}
breathe_default_project = "trifuse"

autodoc_mock_imports = ["numpy", "h5py", "pyscf", "matplotlib"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"Trifuse {version}"
html_static_path = ["static"]
html_css_files = ["trifuse.css"]
html_extra_path = ["extra"]
html_show_sourcelink = False
html_copy_source = False


def links_of_the_site(app, name, source):
    """Links to the README lead to the first page. Links to folders, which a browser of the sources shows, lead to the page of the
    folder; if the site has none, they are text."""
    folder = (root / name).parent

    def has_page(of_folder):
        page = (of_folder / "README.md").resolve()
        return page.exists() and any(page.relative_to(root).match(pattern) for pattern in include_patterns)

    def link(match):
        target = folder / match[2]
        if target.resolve() == root / "README.md":
            return f"[{match[1]}]({os.path.relpath(root / root_doc, folder)}.md)"
        if not target.is_dir():
            return match[0]
        return f"[{match[1]}]({match[2].rstrip('/')}/README.md)" if has_page(target) else match[1]

    source[0] = re.sub(r"\[([^\]]+)\]\(([^)#:]+)(?:#[^)]*)?\)", link, source[0])


def setup(app):
    app.connect("source-read", links_of_the_site)
