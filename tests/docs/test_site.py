"""The docs site: it builds strictly, leads nowhere that is not there, and fetches nothing from elsewhere."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import TOP

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""What a browser fetches unasked."""
UNFETCHED = {"canonical", "prev", "next", "alternate"}
"""Links of a page's head that only say where something is."""
PAGES = [TOP / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")] + sorted(
    TOP.glob("docs/**/*.md")
)


class Page(HTMLParser):
    """What a built page fetches, links to, and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.policies: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found.get("id", ""), found.get("name", "")}
        if tag in FETCHED and not UNFETCHED & set(found.get("rel", "").split()):
            self.fetched.append(found.get(FETCHED[tag], ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get("http-equiv", "").lower() == "content-security-policy":
            self.policies.append(found["content"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from a copy, as `make docs` does, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(TOP / "zensical.toml", folder)
    shutil.copytree(TOP / "docs", folder / "docs")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower(), done.stdout + done.stderr
    return folder / "build" / "site"


@pytest.fixture(scope="module")
def built(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_no_built_page_fetches_anything_from_elsewhere(site: Path, built: dict[Path, Page]) -> None:
    """Scripts, styles, images, fonts lie beside the pages; a policy in each page holds its scripts to that."""
    assert len(built) > 20
    away = [(path.name, one) for path, page in built.items() for one in page.fetched if urlsplit(one).netloc]
    assert away == []
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"@import|url\(\s*[\"']?(?:https?:)?//", text) == [], sheet.name
    shown = [page for path, page in built.items() if path.name != "404.html"]
    assert {tuple(page.policies) for page in shown} == {("default-src 'self' 'unsafe-inline' data: blob:",)}


def test_every_link_of_the_site_leads_to_a_page_and_a_heading_that_are_there(
    site: Path, built: dict[Path, Page]
) -> None:
    lost = []
    for path, page in built.items():
        for link in {*page.links, *page.fetched}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or parts.path.startswith("/") or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target == site:
                target = site / "index.html"
            there = target.is_file() and (
                target not in built or unquote(parts.fragment) in {"", *built[target].anchors}
            )
            if not there and parts.fragment != "__skip":
                lost.append((path.name, link))
    assert lost == []


def test_every_page_is_in_the_navigation_or_linked_from_one_that_is() -> None:
    def pages(nav: object) -> Iterator[str]:
        if isinstance(nav, str):
            yield nav
        for one in nav if isinstance(nav, list) else nav.values() if isinstance(nav, dict) else ():
            yield from pages(one)

    docs = TOP / "docs"
    nav = tomllib.loads((TOP / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    named = list(pages(nav))
    assert len(named) == len({*named})
    assert [name for name in named if not (docs / name).is_file()] == []
    linked = {link for name in named for link in re.findall(r"\]\(([\w/-]+\.md)", (docs / name).read_text("utf-8"))}
    assert {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} <= {*named, *linked}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(TOP).as_posix())
def test_every_link_of_a_page_holds_on_a_code_host(page: Path) -> None:
    """Files and folders are there, and so are the headings that an anchor names."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        assert target.exists(), link
        if parts.fragment:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
            assert parts.fragment in slugs, link
