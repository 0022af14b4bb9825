"""The docstrings of the Python package for Sphinx, which reads them as reStructuredText with sections of NumPy.

A reader of help() needs no markup. So an indented block is code, a sentence between parameters is no parameter, and a
docstring of a field is text.
"""

import re

from sphinx.ext.napoleon.docstring import GoogleDocstring

NAMES = re.compile(r"\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?$")


def without_sentences(lines):
    """Moves the sentences of a section Parameters in front of it. Returns the lines."""
    begin = next((n for n in range(len(lines) - 1) if lines[n] == "Parameters" and set(lines[n + 1]) == {"-"}), None)
    if begin is None:
        return lines
    end = next((n - 1 for n in range(begin + 2, len(lines)) if re.fullmatch("-{3,}", lines[n])), len(lines))
    parameters, sentences, of_sentence = [], [], False
    for line in lines[begin + 2:end]:
        if line and line[0] != " ":
            of_sentence = NAMES.match(line) is None
        (sentences if of_sentence else parameters).append(line)
    return [*lines[:begin], *sentences, "", *lines[begin:begin + 2], *parameters, "", *lines[end:]]


def with_code(lines):
    """Marks the indented blocks before the first section as code."""
    result, text = [], True
    for n, line in enumerate(lines):
        if re.fullmatch("-{3,}", line):
            return result + lines[n:]
        indented = line.startswith("  ")
        if indented and text and result and not result[-1]:
            result += [".. code-block:: python", ""]
        if line:
            text = not indented
        result.append(line)
    return result


def process(app, what, name, obj, options, lines):
    text = with_code(without_sentences(list(lines)))
    lines[:] = [re.sub(r"(?<![`\w/])((?:\w+/)+docs/[\w-]+)\.md", r":doc:`/\1`", line) for line in text]


def setup(app):
    app.setup_extension("sphinx.ext.napoleon")
    app.connect("autodoc-process-docstring", process, priority=400)  # before napoleon, which has 500
    GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end  # "type: text" is not our style
    return {"parallel_read_safe": True}
