"""Every link of an installed page or example leads to an installed file, and `trifuse --help` names installed pages.

    check_installed_pages.py PREFIX
"""

import re
import subprocess
import sys
from pathlib import Path

prefix = Path(sys.argv[1]).resolve()
share = prefix / "share" / "trifuse"
pages = [page for pattern in ("*/docs/*.md", "examples/*.md", "examples/*/*.md") for page in sorted(share.glob(pattern))]
problems, links = [], 0
for page in pages:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    for target in targets + re.findall(r"^\[[^\]]+\]: ([^\s#:]+)(?:#\S*)?$", text, re.MULTILINE):
        links += 1
        if not (page.parent / target).exists():
            problems.append(f"{page.relative_to(prefix)}: {target}")
for command in ("run", "info", "plan", "convert", "bench", "selftest"):
    shown = subprocess.run([prefix / "bin" / "trifuse", command, "--help"], capture_output=True, text=True, check=True).stdout
    named = re.findall(r"\S+/docs/\S+\.md", shown)
    problems += [f"trifuse {command} --help: {page}" for page in named if not page.startswith(str(share)) or not Path(page).is_file()]
    if not named or not (prefix / "share" / "man" / "man1" / f"trifuse-{command}.1").is_file():
        problems.append(f"trifuse {command}: no page, or no man page")
print("\n".join(problems) or f"{len(pages)} pages, {links} links")
sys.exit(1 if problems or len(pages) < 15 or links < 100 else 0)
