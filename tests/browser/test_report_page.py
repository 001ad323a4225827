"""The report as Debian's chromium shows it: nothing is refused by its policy, nothing overflows.

Spoken to over its DevTools pipe, so no driver and no further package is needed.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

import reportable
from agent_trials.results import record, report_files

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTALL = "apt-get install --yes chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip
DEADLINE_SECONDS = 120
STARTER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The protocol's descriptors are 3 (in) and 4 (out)."""


def _out_of_the_way(pipe: tuple[int, int]) -> tuple[int, int]:
    """Return the pipe on descriptors that are neither 3 nor 4."""
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in pipe]
    for end in pipe:
        os.close(end)
    return moved[0], moved[1]


class Browser:
    """A chromium on two pipes; messages end with a zero byte, as its protocol has it."""

    def __init__(self, executable: str, profile: Path) -> None:
        theirs_in, ours_out = _out_of_the_way(os.pipe())
        ours_in, theirs_out = _out_of_the_way(os.pipe())
        starter = [sys.executable, "-c", STARTER, str(theirs_in), str(theirs_out)]
        self._process = subprocess.Popen(
            [*starter, executable, *ARGUMENTS, f"--user-data-dir={profile}"],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out, self._in = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._process.terminate()
        self._process.wait(timeout=30)
        self._in.close()

    def call(self, method: str, session: str | None = None, **parameters: object) -> Any:  # noqa: ANN401
        """Return what the browser answers; events on the way are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str) -> None:
        """Read on until the event has come."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._message())

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            block = os.read(self._in.fileno(), 1 << 16)
            assert block, "chromium ended"
            self._rest += block
        raw, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(raw)
        return found


class Page:
    """One page at one size in one colour scheme, with what the console said of it."""

    def __init__(self, browser: Browser, address: str, *, width: int, scheme: str) -> None:
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Log", "Network", "Runtime"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Page.navigate", url=address)
        browser.wait_for("Page.loadEventFired")

    def call(self, method: str, **parameters: object) -> Any:  # noqa: ANN401 - any JSON value
        """Call a method of this page."""
        return self._browser.call(method, self._session, **parameters)

    def value(self, expression: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return what an expression comes to in the page; the policy does not bind DevTools."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def complaints(self) -> list[str]:
        """Return what the browser refused or could not do."""
        self.value("0")
        entries = [
            event["params"]["entry"]["text"]
            for event in self._browser.events
            if event.get("method") == "Log.entryAdded"
        ]
        console = [
            json.dumps(event["params"]["args"])
            for event in self._browser.events
            if event.get("method") == "Runtime.consoleAPICalled"
        ]
        return entries + console

    def requests(self) -> list[str]:
        """Return what the page asked for, data apart."""
        asked = [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith("data:")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return chromium; without one the test is skipped on a desk, and fails in CI."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        missing = f"no chromium on PATH; install it with: {INSTALL}"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    if sys.platform != "linux":
        pytest.skip("Debian's chromium is what the report was looked at in")
    with tempfile.TemporaryDirectory() as profile, Browser(executable, Path(profile)) as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a report with private pages, of values that a browser might run."""
    folder = tmp_path_factory.mktemp("made")
    title = "'</title></style><script>alert(1)</script><img src=x onerror=alert(2)>'"
    path = reportable.ledger(folder, title=title, mode="rehearsal")
    report_files.write(record.read(path), folder / "out", private=True)
    return folder / "out"


PAGES = ("report.html", "private/attempt-00000.html")


@pytest.mark.timeout(DEADLINE_SECONDS)
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desktop"])
def test_a_page_shows_without_a_complaint(
    browser: Browser, report: Path, name: str, scheme: str, width: int
) -> None:
    """No violation of its policy, no request, no broken image, no sideways scrolling."""
    address = (report / name).as_uri()
    page = Page(browser, address, width=width, scheme=scheme)

    assert page.complaints() == []
    assert page.requests() == [address]
    assert page.value("document.scripts.length") == 0
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).length"
    assert page.value(broken) == 0
    assert page.value("[...document.images].every(i => i.alt.length > 20)")
    assert page.value("getComputedStyle(document.querySelector('h1')).fontWeight") != "400"


@pytest.mark.timeout(DEADLINE_SECONDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser: Browser, report: Path, scheme: str) -> None:
    """At least 4.5 to 1, as WCAG asks of small text."""
    page = Page(browser, (report / "report.html").as_uri(), width=1280, scheme=scheme)

    def luminance(expression: str) -> float:
        found = re.findall(r"[0-9.]+", page.value(expression))[:3]
        linear = [
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
            for c in (float(part) / 255 for part in found)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    ground = luminance("getComputedStyle(document.body).backgroundColor")
    for selector in ("body", ".soft", "a", "dt", "figcaption"):
        ink = luminance(f"getComputedStyle(document.querySelector('{selector}')).color")
        lighter, darker = max(ink, ground), min(ink, ground)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, selector


@pytest.mark.timeout(DEADLINE_SECONDS)
def test_the_watch_sees_a_violation(browser: Browser, report: Path, tmp_path: Path) -> None:
    """The test above would pass with a policy that nobody reports on."""
    text = (report / "report.html").read_text("utf-8")
    bad = tmp_path / "bad.html"
    added = '<p style="color:red">x</p><script>1</script><img src="https://example.invalid/x">'
    bad.write_text(text.replace("</body>", f"{added}</body>"), "utf-8")
    page = Page(browser, bad.as_uri(), width=390, scheme="light")
    complaints = "\n".join(page.complaints())

    for directive in ("style-src", "script-src", "img-src"):
        assert directive in complaints or "default-src 'none'" in complaints
    assert complaints.count("Content Security Policy") >= 3


@pytest.mark.timeout(DEADLINE_SECONDS)
def test_a_printed_report_has_nothing_cut_off(browser: Browser, report: Path) -> None:
    """Whatever scrolls on a screen is whole on paper."""
    page = Page(browser, (report / "report.html").as_uri(), width=700, scheme="light")
    page.call("Emulation.setEmulatedMedia", media="print")
    cut = (
        "[...document.querySelectorAll('.scroll')].filter(e => e.clientHeight < e.scrollHeight - 1)"
    )

    assert page.value(f"{cut}.length") == 0
    assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
