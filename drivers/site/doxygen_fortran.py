"""The Sphinx directive `fortran-module`: the public procedures and types of a Fortran module, as Doxygen finds them.

Breathe reads declarations as C++, so it cannot show Fortran.
"""

import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util.docutils import SphinxDirective


def text_of(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def declaration_of(argument, location):
    """The text before :: in the declaration of an argument. Doxygen leaves it out."""
    lines = Path(location.get("bodyfile") or location.get("file")).read_text().splitlines()[int(location.get("bodystart", 1)) - 1:int(location.get("bodyend", 0))]
    for line in lines:
        declared, colons, names = line.partition("::")
        if colons and re.search(rf"\b{argument}\b", re.sub(r"\(.*?\)", "", names)):
            return declared.strip()
    return ""  # the declaration may stand in an interface


def paragraphs(member):
    for name in ("briefdescription", "detaileddescription"):
        for paragraph in member.iterfind(f"{name}/para"):
            yield nodes.paragraph("", text_of(paragraph))


class FortranModule(SphinxDirective, Directive):
    required_arguments = 1

    def run(self):
        folder = Path(os.environ["TRIFUSE_DOXYGEN_XML"])
        path = folder / f"namespace{self.arguments[0].replace('_', '__')}.xml"
        self.env.note_dependency(str(path))
        shown = []
        for member in ElementTree.parse(path).getroot().iter("memberdef"):
            if member.get("prot") != "public" or member.get("kind") != "function":
                continue
            shown.append(self.procedure(member))
        if not shown:
            raise self.error(f"Doxygen found no public procedure of {self.arguments[0]}.")
        return shown

    def procedure(self, member):
        name = text_of(member.find("name"))
        kind = text_of(member.find("type")).replace(", public", "")
        arguments = [(text_of(each.find("defname")), declaration_of(text_of(each.find("defname")), member.find("location")))
                     for each in member.iterfind("param")]
        section = nodes.section(ids=[f"{self.arguments[0]}-{name}"])
        section += nodes.title("", "", nodes.literal("", name))
        lines = [f"{kind} {name}({', '.join(argument for argument, _ in arguments)})"]
        lines += [f"  {declared} :: {argument}" for argument, declared in arguments if declared]
        block = nodes.literal_block("\n".join(lines), "\n".join(lines))
        block["language"] = "fortran"
        section += block
        section += list(paragraphs(member))
        return section


def setup(app):
    app.add_directive("fortran-module", FortranModule)
    return {"parallel_read_safe": True}
