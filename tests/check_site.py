"""The documentation site as a browser gets it: no text that a tool made of a sentence, and everything that pages promise.

    check_site.py FOLDER        FOLDER has the HTML that drivers/site/build.sh made
"""

import html
import re
import sys
import unittest
from pathlib import Path

SITE = Path(sys.argv.pop(1)).resolve()
# What a reader never wants to see, and what made it.
MARKS = {
    r"parameters \(The other|<strong>parameters</strong>": "a sentence between parameters that became one",
    r"Alias for field number": "a field without a docstring",
    r"TYPE:|<dt[^>]*>Type<": "a docstring of a field that was split at its colon",
    r"<strong>[^<]*\.</strong> \(": "a sentence that became the name of a parameter",
    r"<blockquote>\s*<div>\s*<p>import ": "code that became a quotation",
    r"problematic|system-message": "an error of the markup",
    r"&lt;trifuse\._": "a default value by its address",
}


def article(page):
    text = (SITE / page).read_text()
    return text[text.index("<article"):text.index("</article>")]


def text_of(markup):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", markup)))


class Site(unittest.TestCase):
    def test_no_page_has_marks_of_tools(self):
        pages = [page for page in SITE.rglob("*.html") if "<article" in page.read_text()]
        self.assertGreater(len(pages), 30)
        for page in pages:
            for mark, cause in MARKS.items():
                with self.subTest(page=str(page.relative_to(SITE)), mark=mark):
                    self.assertIsNone(re.search(mark, article(page)), cause)

    def test_the_first_page_is_the_readme(self):
        start = article("README.html")
        for title in re.findall(r"^#+ (.*)$", (Path(__file__).parents[1] / "README.md").read_text(), re.MULTILINE):
            self.assertIn(title, text_of(start))
        self.assertIn("url=README.html", (SITE / "index.html").read_text())

    def test_names_in_python_docstrings_are_code(self):
        page = article("drivers/site/api_python.html")
        self.assertIn('<span class="kn">import</span><span class="w"> </span><span class="nn">trifuse.pyscf</span>', page)
        self.assertNotIn("docs/methods.md", text_of(page))
        self.assertNotIn("<cite>", page)

    def test_c_is_shown_as_c(self):
        page = article("drivers/site/api_c.html")
        self.assertGreater(page.count('class="c function"'), 50)
        self.assertNotIn('class="cpp', page)
        code = page[page.index('id="c.trifuse_code"'):page.index('id="c.trifuse_code.TRIFUSE_SUCCESS"')]
        self.assertNotIn("Errors.", text_of(code))  # the words of the whole file

    def test_output_of_programs_is_not_coloured(self):
        for page in SITE.rglob("*.html"):
            if "/docs/" in str(page) or page.name == "README.html":
                self.assertNotIn("highlight-default", page.read_text(), page)

    def test_formulas_are_markup_that_browsers_show_alone(self):
        methods = article("drivers/docs/methods.html")
        self.assertGreater(methods.count("<math "), 20)
        for page in SITE.rglob("*.html"):
            markup = page.read_text()
            with self.subTest(page=str(page.relative_to(SITE))):
                self.assertNotIn("$$", text_of(markup[markup.find("<article"):]))
                self.assertNotRegex(markup, r'(?:src|href)="https?://[^"]*\.(?:js|css)"')

    def test_links_inside_the_site_lead_somewhere(self):
        for page in SITE.rglob("*.html"):
            markup = page.read_text()
            for target in set(re.findall(r'href="([^"#:?]+)(?:#[^"]*)?"', markup)):
                with self.subTest(page=str(page.relative_to(SITE)), target=target):
                    self.assertTrue((page.parent / target).exists())

    def test_lines_of_code_fit_the_column(self):
        css = (Path(__file__).parents[1] / "drivers/site/static/trifuse.css").read_text()
        column = float(re.search(r"\.content { width: ([\d.]+)em", css)[1])
        letter = 0.602 * float(re.search(r"pre.*{ font-size: ([\d.]+)rem", css)[1])  # of DejaVu Sans Mono
        self.assertGreaterEqual((column - 1.75) / letter, 120)


if __name__ == "__main__":
    unittest.main()
