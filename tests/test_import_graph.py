"""Imports point one way: the map in CONTRIBUTING.md is true, and no cycle hides in a function."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "src" / "montechain"


def module_name(path: Path) -> str:
    parts = ("montechain", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imports(node: ast.AST) -> Iterator[str]:
    """Yield what is imported anywhere in a module, in functions too, but not for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            whole = [f"{child.module}.{alias.name}" for alias in child.names]
            yield from (name if name in MODULES else child.module for name in whole)
        yield from imports(child)


GRAPH = {
    module: {name for name in imports(ast.parse(path.read_text("utf-8"))) if name in MODULES and name != module}
    for module, path in MODULES.items()
}


def part(module: str) -> str:
    """Return the file or folder of the package that a module belongs to."""
    return module.split(".")[1]


def layers() -> list[set[str]]:
    """Return the layers of the map in CONTRIBUTING.md, the lowest first."""
    block = re.search(r"```text layers\n(.*?)```", (PROJECT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
    assert block is not None
    return [set(line.split()) for line in block.group(1).splitlines()]


def test_there_are_no_cycles():
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


def test_every_part_is_on_the_map_once():
    on_map = [name for layer in layers() for name in layer]
    assert sorted(on_map) == sorted({part(module) for module in MODULES if module != "montechain"})


def test_imports_point_down():
    level = {name: number for number, layer in enumerate(layers()) for name in layer}
    against = [
        f"{module} imports {name}"
        for module, imported in GRAPH.items()
        for name in imported
        if "montechain" not in (module, name) and part(module) != part(name)
        if level[part(name)] >= level[part(module)]
    ]
    assert against == []


def test_private_names_of_scikit_learn_are_in_one_place():
    private = re.compile(r"from sklearn\S* import .*\b_[a-z]|from sklearn\S*\._|import sklearn\S*\._")
    found = [module for module, path in MODULES.items() if private.search(path.read_text("utf-8"))]
    assert set(found) <= {"montechain._compat"}
