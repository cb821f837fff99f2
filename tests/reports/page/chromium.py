"""Real Chromium with a page in it. Nothing may be logged, thrown or asked of a network."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.not_run import not_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VIEWS = (
    "overview", "problems", "hosts", "owners", "images", "nics", "findings", "settled", "coverage",
)  # fmt: skip
_READY = "html[data-ready]"
_PATIENCE = 120_000
"""Milliseconds that a fact may take to come: a busy machine stalls for many seconds."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, or the reason why there is none."""
    if CHROMIUM is None:
        not_run("tests/reports/page", "there is no Chromium: see scripts/packages/tests.apt")
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A tab of its own that notes what goes wrong in it."""

    def __init__(self, browser: Browser, place: Path | str) -> None:
        """``place``: a file, or a URL."""
        self._browser = browser
        self._address = place if isinstance(place, str) else place.as_uri()
        self.wrong: list[str] = []

    @contextmanager
    def open(
        self, hash_: str = "", *, width: int = 1280, dark: bool = False, script: str = "",
        runs: bool = True,
    ) -> Iterator[Page]:  # fmt: skip
        """The page at that fragment, ready. ``script`` runs before its own; ``runs``: its own
        does."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            java_script_enabled=runs,
            accept_downloads=True,
        )
        context.set_default_timeout(_PATIENCE)
        page = context.new_page()
        page.on("console", lambda line: self.wrong.append(f"{line.type}: {line.text}"))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda asked: self._note(asked.url))
        if script:
            page.add_init_script(script)
        page.goto(f"{self._address}{hash_}", wait_until="commit" if runs else "load")
        if runs:
            page.wait_for_selector(f"{_READY}, #failed:not([hidden])", state="attached")
        yield page
        context.close()

    def _note(self, address: str) -> None:
        if not address.startswith((self._address, "blob:")):
            self.wrong.append(f"asked for {address}")
