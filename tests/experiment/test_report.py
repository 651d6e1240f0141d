import html.parser
import json
import shutil

import pytest

from jaxrepro.experiment import main, run_session, write_report
from jaxrepro.experiment._html import SHOWN_ROWS

VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(html.parser.HTMLParser):
    """A page that checks that its tags are balanced and collects what it shows."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.sources, self.ids = [], [], [], []
        self.tags, self.words = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes["href"]] if "href" in attributes else []
        self.sources += [attributes["src"]] if "src" in attributes else []
        if tag == "img":
            assert attributes["alt"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


PLOT = """
def plot(tables, out):
    for name, width in (("narrow", "column"), ("wide", "page")):
        words = "A <b>caption</b> & more"
        with out.figure(name, width=width, caption=words) as (_, axes):
            axes.plot(tables["squares"]["x"])
"""
CLAIMS = """
    Claim("a", "holds <script>alert(1)</script>", "paper, figure 1", last, 4),
    Claim("b", "is missed: größer, 中文", "derivation", last, 5, 0.25),
    Claim("c", "no", "paper", last, 5, expected=False, reason="of <this> & that"),
    Claim("d", "surprise", "measurement", last, 4, expected=False, reason="was so"),
    Claim("e", "later", "paper", last, 4, quick=False),
    Claim("f", "raises", "paper", lambda t: t["<nothing>"], 4),
"""


@pytest.fixture(scope="module")
def session(write_package, source, tmp_path_factory):
    pytest.importorskip("matplotlib", reason="needs the extra 'plots'")
    folder = tmp_path_factory.mktemp("report")
    rows = 'out.save_table("long", {"i": range(500), "<x>": ["&"] * 500})'
    name = write_package(
        folder,
        a__full=source(
            title="A <full> experiment",
            claims=CLAIMS,
            plot=PLOT,
            options="plot=plot",
            papers="'germain2026spectral', 'no<key>'",
            body=rows,
        ),
        b__fails=source(body="raise ValueError('<no> luck')"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        names = ["a/full", "b/fails"]
        options = {"quick": True, "command": ["run", "all"]}
        return run_session(name, names, results=folder / "results", **options)


def test_the_page(session):
    text = session.report.read_text(encoding="utf-8")
    page = Page(text)

    # Self-contained: figures inline, links lead to papers or within the page.
    assert len(page.sources) == 2
    assert all(s.startswith("data:image/png;base64,") for s in page.sources)
    outside = [link for link in page.links if not link.startswith("#")]
    assert outside == ["https://arxiv.org/abs/2509.24920"]
    assert all(link[1:] in page.ids for link in page.links if link.startswith("#"))
    assert len(set(page.ids)) == len(page.ids)
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text

    # Every verdict in words, with what was expected and measured.
    for words in ("held", "missed", "not reproduced", "unexpectedly held", "skipped"):
        assert f"1 {words}" in page.text
    assert "2 error" in page.text
    assert "1 experiment failed" in page.text
    assert "5\u00a0±\u00a00.25" in text
    assert "holds <script>alert(1)</script>" in page.text
    assert "größer, 中文" in page.text
    assert "of <this> & that" in page.text
    assert "KeyError: '<nothing>'" in page.text
    assert "ValueError: <no> luck" in page.text
    assert "A <b>caption</b> & more" in page.text
    assert "A <full> experiment" in page.text
    assert "Second paragraph with code & <tags>." in page.text

    # Papers, settings, evidence.
    assert "Rémi Flamary" in page.text
    assert "@inproceedings{germain2026spectral" in page.text
    assert "no<key>: no entry in any references.bib" in page.text
    assert "jaxlib" in page.text
    assert "scale" in page.text

    # Phones and dark rooms.
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert "@media (max-width" in text


def test_long_tables_are_cut_with_a_note(session):
    text = session.report.read_text(encoding="utf-8")
    page = Page(text)
    assert f"The first {SHOWN_ROWS} of 500 rows; all in tables/long.csv." in page.text
    assert "<td>&amp;</td>" in text
    assert text.count("<td>&amp;</td>") == SHOWN_ROWS
    assert len(text) < 400_000


def test_figures_are_in_order_and_wide_ones_marked(session):
    text = session.report.read_text(encoding="utf-8")
    assert text.count("<figure>") == text.count('<figure class="wide">') == 1
    assert text.index("<figure>") < text.index('<figure class="wide">')


def test_a_page_of_one_run(session):
    page = write_report(session.results[0].folder)
    assert page.parent == session.results[0].folder
    text = page.read_text(encoding="utf-8")
    Page(text)
    assert "<title>jaxrepro: a/full</title>" in text


def test_summary_counts_what_the_page_shows(session):
    summary = json.loads((session.folder / "summary.json").read_text(encoding="utf-8"))
    full, fails = summary["experiments"]
    assert full["claims"] == {
        "a": "held",
        "b": "missed",
        "c": "not reproduced",
        "d": "unexpectedly held",
        "e": "skipped",
        "f": "error",
    }
    assert fails["status"] == "failed"
    assert (session.folder / full["folder"] / "claims.json").is_file()


def test_figures_that_could_not_be_drawn(package, source, capsys):
    failing = "def plot(tables, out):\n    raise ValueError('<no> axis')"
    name = package(a__one=source(plot=failing, options="plot=plot"))
    assert main(name, ["run", "all", "--quick"]) == 1
    captured = capsys.readouterr()
    assert "no figures: ValueError: <no> axis" in captured.err
    report = captured.out.splitlines()[-1].removeprefix("report: ")
    with open(report, encoding="utf-8") as file:
        page = Page(file.read())
    assert "ValueError: <no> axis" in page.text


def test_results_can_be_moved(session, tmp_path):
    shutil.copytree(session.folder.parent, tmp_path / "archive")
    page = write_report(tmp_path / "archive" / session.folder.name)
    assert page.read_bytes() == session.report.read_bytes()


def test_records_changed_by_hand_are_named(session, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(session.results[0].folder, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"versions": [1]}))
    with pytest.raises(ValueError, match="run: expected records of a run; got Attr"):
        write_report(folder)


def test_neither_session_nor_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="neither a session nor a run folder"):
        write_report(tmp_path)
