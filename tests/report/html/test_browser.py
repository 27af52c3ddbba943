"""Pages in a real browser: nothing from the data is run or loaded, and nothing hangs over the edge of a phone."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.report.html.conftest import LABELS, SEQUENCES, TAGS, TEXTS
from tests.report.html.test_page import Reader

from tiltfit import TiltClassifier, TiltTagger, report_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in BROWSERS if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here, so pages are not looked at in a browser"),
    pytest.mark.slow,
]
QUIET = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
MEASURE = """
<!doctype html><meta charset="utf-8"><body><script>
const pages = PAGES, found = [];
addEventListener("load", async () => {
  for (const [html, width] of pages) {
    const frame = document.createElement("iframe");
    frame.width = width; frame.height = 800; frame.srcdoc = html;
    const done = new Promise(resolve => frame.onload = resolve);
    document.body.append(frame); await done;
    const inside = frame.contentDocument, root = inside.documentElement;
    const pictures = [...inside.querySelectorAll("svg")].map(s => s.getBoundingClientRect());
    found.push({width, scroll: root.scrollWidth, unseen: pictures.filter(r => !(r.width > 20)).length,
                heading: getComputedStyle(inside.querySelector("h1")).fontSize});
  }
  document.body.replaceChildren(); document.title = JSON.stringify(found);
});
</script>
"""


class Listener(ThreadingHTTPServer):
    """A server that only notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Listener)
        self.server.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def browse(path: Path, *options: str) -> tuple[str, list[str]]:
    """The page as the browser has it in the end, and what its console said."""
    assert CHROMIUM is not None
    profile = path.parent / "profile"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *QUIET, *options,
               "--enable-logging=stderr", "--v=0", "--virtual-time-budget=3000", "--dump-dom",
               path.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    console = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode("utf-8"), console


def attack(url: str) -> str:
    own = "document.title='owned'"
    return (
        f'puck <script>{own}</script><script src={url}/script></script><img src={url}/image onerror="{own}">'
        f"<link rel=stylesheet href='{url}/style'></style></blockquote><iframe src={url}/frame></iframe>"
        f"<svg onload=\"{own}\"></svg><meta http-equiv=refresh content='0;url={url}/gone'>&lt;b&gt;\x00\ud800"
    )


def test_the_browser_would_tell(listener: Listener, tmp_path: Path) -> None:
    # What the tests below look for would be seen if it happened.
    page = tmp_path / "page.html"
    html = f"<title>x</title><script>console.error('oh')</script>{attack(listener.url)[:-2]}"
    page.write_text(html, encoding="utf-8")
    dom, console = browse(page)
    assert "/image" in listener.asked
    assert "owned" in dom or "/gone" in listener.asked
    assert console


def test_text_from_data_is_shown_and_nothing_else_happens(
    classifier: TiltClassifier, listener: Listener, tmp_path: Path
) -> None:
    hostile = attack(listener.url)
    page = tmp_path / "page.html"
    report_page(classifier, [*TEXTS, hostile], [*LABELS, "baseball"], title=f"A page {hostile[:40]}").save(page)
    dom, console = browse(page)
    assert console == []
    assert listener.asked == []
    read = Reader(dom.replace("<!DOCTYPE html>", ""))
    assert read.of("title")[0].startswith("A page puck <script>")
    assert set(read.tags) & {"script", "img", "link", "iframe"} == set()
    assert read.tags.count("table") == 2
    assert read.tags.count("svg") >= 7
    assert "document.title='owned'" in "".join(read.of("blockquote"))
    assert "puck" in read.of("mark")


def test_nothing_hangs_over_the_edge_of_a_phone(classifier: TiltClassifier, tagger: TiltTagger, tmp_path: Path) -> None:
    long = "puck " + "w" * 900
    pages = [
        report_page(classifier, [*TEXTS, long], title="t" * 200),
        report_page(tagger, [*SEQUENCES, ["x" * 300]], [*TAGS, None]),
    ]
    told = json.dumps([[page.html, width] for page in pages for width in (360, 1200)]).replace("</", "<\\/")
    wrapper = tmp_path / "measure.html"
    wrapper.write_text(MEASURE.replace("PAGES", told), encoding="utf-8")
    dom, console = browse(wrapper)
    assert console == []
    found = json.loads(Reader(dom.replace("<!DOCTYPE html>", "")).of("title")[0])
    assert [one["width"] for one in found] == [360, 1200, 360, 1200]
    for one in found:
        assert one["scroll"] <= one["width"], one
        assert one["unseen"] == 0, one
        assert one["heading"] != "32px", one  # the browser's own: the policy lets our style in
