"""What the hidden checkers share: groups that run apart, and one JSON object at the end.

Each group runs in a process of its own, forked here, so that code of the tree can neither change
what another group sees nor speak for one: what it prints goes nowhere, and a process that ends
without an answer has failed. The exit code is 0 only if every group passed.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import io
import json
import os
import signal
import sys
import tempfile
import traceback
import unittest
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HALF = 32
SECONDS = 20
"""How long one group may take."""


class Checker:
    """The groups of one task, in the order in which they are declared."""

    def __init__(self, package: str) -> None:
        self.tree = Path(sys.argv[1]).resolve()
        self.package = package
        self._groups: dict[str, Callable[[], None]] = {}
        self._tests: dict[str, tuple[str, Mapping[str, str]]] = {}

    def group(self, name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """Declare the group of one requirement; it passes unless the function raises."""

        def declare(function: Callable[[], None]) -> Callable[[], None]:
            self._groups[name] = function
            return function

        return declare

    def new_tests(self, name: str, path: str, methods: Mapping[str, str]) -> None:
        """Declare the group of the new tests of a file: each is there, asserts something, passes.

        Args:
            name: of the group.
            path: of the file, in the tree.
            methods: the names of the tests; each with the group of what it is about. A test that
                fails is held against that group alone if that one fails too.
        """
        self._tests[name] = (path, methods)

    def main(self) -> None:
        """Check the tree, print the groups and exit with the verdict."""
        found: dict[str, dict[str, Any]] = {}
        with tempfile.TemporaryDirectory() as compiled:
            # What one group compiled the next need not compile again; nothing of it is in the tree.
            sys.pycache_prefix, sys.dont_write_bytecode = compiled, False
            for name, function in self._groups.items():
                found[name] = _apart(partial(_run, self.tree, function))
            for name, (path, methods) in self._tests.items():
                found[name] = self._new_tests(path, methods, found)
        json.dump({"groups": dict(sorted(found.items()))}, sys.stdout)
        sys.exit(0 if all(each["ok"] for each in found.values()) else 1)

    def _new_tests(
        self, path: str, methods: Mapping[str, str], groups: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Any]:
        failed = _apart(partial(_failing, self.tree, path, sorted(methods)))
        if not failed["ok"]:
            return failed
        blamed = [name for name in failed["value"] if groups[methods[name]]["ok"]]
        if blamed:
            return {"ok": False, "detail": f"{path}: {', '.join(blamed)} fail"}
        return {"ok": True}

    def run(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        """Run the program's command line; return exit code, output and errors."""
        module = importlib.import_module(f"{self.package}.cli")
        out, err = io.StringIO(), io.StringIO()
        before, sys.stdin = sys.stdin, io.StringIO(stdin)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = module.main(list(words))
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdin = before
        return int(code or 0), out.getvalue(), err.getvalue()

    def write(self, name: str, text: str) -> None:
        """Write a file into the folder that the group works in."""
        Path(name).write_text(text, "utf-8")

    def refusal(self, error: str, function: Callable[..., object], *arguments: object) -> str:
        """Return what a call is refused with; fail unless it raises this error of the program."""
        try:
            function(*arguments)
        except getattr(self.module("errors"), error) as refused:
            return str(refused)
        raise AssertionError(f"this was accepted: {arguments[1:]}")

    def module(self, name: str) -> Any:  # noqa: ANN401 - a module of the tree
        """Return a module of the program."""
        return importlib.import_module(f"{self.package}.{name}")

    def text(self, path: str) -> str:
        """Return a file's text, nothing where there is none."""
        file = self.tree / path
        return file.read_text("utf-8") if file.is_file() else ""

    def section(self, path: str, heading: str) -> str:
        """Return what stands below a heading, up to the next one of its level or a higher one."""
        level = len(heading) - len(heading.lstrip("#"))
        found: list[str] = []
        inside = False
        for line in self.text(path).splitlines():
            marks = len(line) - len(line.lstrip("#"))
            if line.strip().casefold() == heading.casefold():
                inside = True
            elif inside and 0 < marks <= level and line[marks : marks + 1] == " ":
                break
            elif inside:
                found.append(line)
        return "\n".join(found)

    def unmodified(self, digests: Mapping[str, str]) -> None:
        """Fail unless files are what they were, and the tests in them pass.

        Args:
            digests: the first half of the SHA-256 of each file, in hexadecimal digits.
        """
        for path, digest in digests.items():
            file = self.tree / path
            found = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "missing"
            assert found[:HALF] == digest, f"{path} was changed"
            failing = _failing_tests(path)
            assert not failing, f"{path}: {', '.join(failing)} fail"


def _run(tree: Path, function: Callable[[], None]) -> None:
    _enter(tree)
    function()


def _enter(tree: Path) -> None:
    """Make the tree importable, and work in a scratch folder."""
    sys.path.insert(0, str(tree))
    os.chdir(tempfile.mkdtemp(dir=os.environ.get("CHECK_SCRATCH")))


def _failing(tree: Path, path: str, methods: list[str]) -> list[str]:
    """Return which of the named tests fail; raise if one is missing or asserts nothing."""
    file = tree / path
    assert file.is_file(), f"{path} is missing"
    functions = {
        node.name: node
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    asserting = _asserting(functions)
    for name in methods:
        assert name in functions, f"{path} has no {name}"
        assert name in asserting, f"{name} asserts nothing"
    _enter(tree)
    return sorted(set(_failing_tests(path)) & set(methods))


def _asserting(functions: Mapping[str, ast.FunctionDef]) -> set[str]:
    """Return the functions of a file that assert something, or call one of it that does."""
    calls = {name: set(_called(node)) for name, node in functions.items()}
    found = {
        name
        for name, node in functions.items()
        if any(isinstance(each, ast.Assert) for each in ast.walk(node))
        or any(called.startswith("assert") or called == "fail" for called in calls[name])
    }
    while more := {name for name, called in calls.items() if called & found} - found:
        found |= more
    return found


def _called(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            if isinstance(each.func, ast.Attribute):
                yield each.func.attr
            elif isinstance(each.func, ast.Name):
                yield each.func.id


def _failing_tests(path: str) -> list[str]:
    """Return the names of the unittest methods of a file that do not pass."""
    name = path.removesuffix(".py").replace("/", ".")
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = unittest.TextTestRunner(io.StringIO(), verbosity=0).run(suite)
    assert result.testsRun, f"{path} holds no test"
    bad = [*result.failures, *result.errors]
    return sorted({test.id().rsplit(".", 1)[-1] for test, _ in bad})


def _apart(function: Callable[[], Any]) -> dict[str, Any]:
    """Return what a function comes to in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CHECK_SCRATCH"] = scratch
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _answer(function, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError:
        return {"ok": False, "detail": "the check ended without an answer"}
    return found


def _answer(function: Callable[[], Any], writing: int) -> None:
    """Run in the child: answer through the pipe, and end without the parent's clean-up."""
    signal.alarm(SECONDS)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    try:
        answer: dict[str, Any] = {"ok": True, "value": function()}
    except BaseException as error:  # noqa: BLE001 - whatever code of the tree raises is a failure
        answer = {"ok": False, "detail": _detail(error)}
    os.write(writing, json.dumps(answer).encode())
    os._exit(0)


def _detail(error: BaseException) -> str:
    """Return what went wrong; of an assertion without words the line that makes it."""
    where = traceback.extract_tb(error.__traceback__)
    said = str(error) or (where[-1].line if where else None) or ""
    return f"{type(error).__name__}: {said}"[:400]
