"""Pages as a person sees them: in a real Chromium without a window, driven by Playwright. The fixture is `browser`.

Where Chromium or requirements-browser.txt is missing the tests are left out with a sentence; with
GEMM_BROWSER=required they fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_HERE = ("127.0.0.1", "localhost")
_LONGEST = 400  # characters of an error: a stack of data: URLs has a hundred thousand


@dataclass
class Visit:
    """A page that was opened, and what happened there."""

    page: Any  # playwright.sync_api.Page
    errors: list[str] = field(default_factory=list)  # of scripts and on the console
    left: list[str] = field(default_factory=list)  # addresses on other machines that were asked for

    def clean(self) -> None:
        """Fails where a script went wrong or something outside of this machine was asked for."""
        assert not self.errors
        assert not self.left

    def accessible(self) -> None:
        """Fails where axe-core finds something serious or critical."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        bad = [
            f"{one['impact']}: {one['help']}: {', '.join(str(node['target']) for node in one['nodes'][:5])}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert not bad, "\n".join(bad)

    def fits(self) -> None:
        """Fails where the page is wider than the window."""
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@dataclass
class Browser:
    """A Chromium that asks no other machine for anything."""

    chromium: Any  # playwright.sync_api.Browser

    @contextmanager
    def visit(self, address: str, width: int = 1280, height: int = 900, dark: bool = False, **more: Any) -> Iterator[Visit]:
        """Opens an address (Path.as_uri() of a file, or of a server here) in a window of that size; `more` goes to Playwright's
        new_context()."""
        scheme = "dark" if dark else "light"
        context = self.chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", **more
        )
        try:
            visit = Visit(context.new_page())

            def look(route: Any) -> None:
                there = urlsplit(route.request.url)
                if there.scheme in ("file", "data", "blob", "about") or there.hostname in _HERE:
                    route.continue_()
                else:
                    visit.left.append(route.request.url)
                    route.abort()

            def said(message: Any) -> None:
                if message.type == "error":
                    visit.errors.append(message.text[:_LONGEST])

            context.route("**/*", look)
            visit.page.on("console", said)
            visit.page.on("pageerror", lambda error: visit.errors.append(str(error)[:_LONGEST]))
            visit.page.goto(address)
            yield visit
        finally:
            context.close()


def _missing() -> str:
    """What the tests lack, as a sentence; nothing where all is there."""
    try:
        import axe_playwright_python  # noqa: F401
        import playwright  # noqa: F401
    except ImportError as error:
        return f"Python has no {error.name}; type: .venv/bin/pip install -r requirements-browser.txt"
    if not any(map(shutil.which, _NAMES)):
        return "There is no Chromium; type: apt-get install chromium"
    return ""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests of a process; tests of it are in one, @pytest.mark.xdist_group("browser")."""
    if why := _missing():
        if os.environ.get("GEMM_BROWSER") == "required":
            pytest.fail(why)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, _NAMES)))
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not run for root, nor in most containers; the pages are ours.
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield Browser(chromium)
        finally:
            chromium.close()
