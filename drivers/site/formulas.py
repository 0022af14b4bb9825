"""Formulas of the pages as MathML, which browsers show without scripts and without a network."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def inline(translator, node):
    translator.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def block(translator, node):
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>\n')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
