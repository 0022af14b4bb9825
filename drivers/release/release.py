#!/usr/bin/env python3
"""The steps of a release that are not the compiler's. RELEASING.md says when each one runs.

    release.py prepare VERSION DATE        writes the version and the date everywhere, and dates the notes of CHANGELOG.md
    release.py check [TAG]                 all places have the same version; a tag must be vVERSION, and then all notes are dated
    release.py address ADDRESS             writes the public address of the repository into pyproject.toml and CITATION.cff
    release.py notes ADDRESS               prints the notes of the version, with whole links
    release.py assets FOLDER               writes the sources and the SHA-256 checksums of all files into FOLDER

The version stands in CMakeLists.txt. The other places are copies for programs that cannot read it there.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NUMBER = r"\d+\.\d+\.\d+"
DAY = r"\d{4}-\d\d-\d\d"
# Each place of the version or of its date: file, pattern with one group, what it is.
PLACES = (
    ("CMakeLists.txt", rf"^project\(trifuse VERSION ({NUMBER}) ", "version"),
    ("CITATION.cff", rf"^version: ({NUMBER})$", "version"),
    ("CITATION.cff", rf'^date-released: "({DAY})"$', "date"),
    ("drivers/conda/recipe.yaml", rf'^  version: "({NUMBER})"$', "version"),
)
UNRELEASED = "## [Unreleased]\n"
DATED = re.compile(rf"^## \[({NUMBER})\] - ({DAY})$", re.MULTILINE)


class Refusal(Exception):
    """A sentence for the person who makes the release."""


def place(name: str, pattern: str) -> tuple[str, re.Match[str]]:
    text = (ROOT / name).read_text()
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise Refusal(f"{name} has no line like {pattern}.")
    return text, found


def version() -> str:
    return place(*PLACES[0][:2])[1][1]


def write(name: str, pattern: str, value: str) -> None:
    text, found = place(name, pattern)
    (ROOT / name).write_text(text[:found.start(1)] + value + text[found.end(1):])


def prepare(number: str, day: str) -> None:
    if not re.fullmatch(NUMBER, number) or not re.fullmatch(DAY, day):
        raise Refusal(f"{number} {day}: write a version such as 0.3.0 and a date such as 2026-11-28.")
    changes = ROOT / "CHANGELOG.md"
    text = changes.read_text()
    if UNRELEASED not in text:
        raise Refusal("CHANGELOG.md has no section [Unreleased], so there is nothing to release.")
    changes.write_text(text.replace(UNRELEASED, f"## [{number}] - {day}\n", 1))
    for name, pattern, kind in PLACES:
        write(name, pattern, number if kind == "version" else day)


def check(tag: str = "") -> None:
    number = version()
    dated = DATED.search((ROOT / "CHANGELOG.md").read_text())
    if dated is None or dated[1] != number:
        raise Refusal(f"CMakeLists.txt has version {number}, but CHANGELOG.md has no notes of it at the top.")
    for name, pattern, kind in PLACES:
        found = place(name, pattern)[1][1]
        expected = number if kind == "version" else dated[2]
        if found != expected:
            raise Refusal(f"{name} has the {kind} {found}, but CMakeLists.txt and CHANGELOG.md have {expected}; "
                          "use release.py prepare.")
    if tag and tag != f"v{number}":
        raise Refusal(f"The tag is {tag}, but the version is {number}; a release has the tag v{number}.")
    if tag and UNRELEASED in (ROOT / "CHANGELOG.md").read_text():
        raise Refusal("CHANGELOG.md has changes that belong to no version; use release.py prepare.")


def address(of_repository: str) -> None:
    if not re.fullmatch(r"https://[\w./-]+[\w-]", of_repository):
        raise Refusal(f"{of_repository}: write an address that begins with https:// and ends without a slash.")
    package = ROOT / "pyproject.toml"
    text = package.read_text()
    links = {"Homepage": "", "Source": "", "Documentation": "/tree/main/drivers/docs", "Changelog": "/blob/main/CHANGELOG.md",
             "Issues": "/issues"}
    lines = "".join(f'{name} = "{of_repository}{path}"\n' for name, path in links.items())
    old = rf"^\[project\.urls\]\n(?:(?:{'|'.join(links)}) = .*\n)*"
    package.write_text(re.sub(old, f"[project.urls]\n{lines}", text, flags=re.MULTILINE))
    citation = ROOT / "CITATION.cff"
    text = re.sub(r"^repository-code: .*\n", "", citation.read_text(), flags=re.MULTILINE)
    citation.write_text(text.replace("license: ", f'repository-code: "{of_repository}"\nlicense: ', 1))


def notes(of_repository: str) -> str:
    number = version()
    text = (ROOT / "CHANGELOG.md").read_text()
    begin = next((found for found in DATED.finditer(text) if found[1] == number), None)
    if begin is None:
        raise Refusal(f"CHANGELOG.md has no notes of version {number}.")
    after = re.search(r"^## ", text[begin.end():], re.MULTILINE)
    section = text[begin.end():begin.end() + after.start() if after else len(text)].strip()
    return re.sub(r"\]\((?!https?:)([^)#]+)", rf"]({of_repository}/blob/v{number}/\1", section) + "\n"


def assets(folder: str) -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    name = f"trifuse-{version()}"
    archive = (target / f"{name}.tar.gz").resolve()
    subprocess.run(["git", "-C", ROOT, "archive", f"--prefix={name}/", "-o", archive, "HEAD"], check=True)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(target.iterdir())
            if file.is_file() and file.name != "SHA256SUMS"]
    (target / "SHA256SUMS").write_text("".join(sums))


def main(arguments: list[str]) -> int:
    commands = {"prepare": prepare, "check": check, "address": address, "notes": notes, "assets": assets}
    try:
        if not arguments or arguments[0] not in commands:
            raise Refusal(__doc__ or "")
        printed = commands[arguments[0]](*arguments[1:])  # type: ignore[operator]
    except (Refusal, TypeError) as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 1
    if printed is not None:
        print(printed, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
