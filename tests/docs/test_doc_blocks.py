"""Every Python block of the README and of the pages runs and prints what it says."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


blocks = _load(ROOT / "docs" / "blocks.py")
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if any(block.language == "python" for block in blocks.read_blocks(page))
]


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, plain_errors):
    assert blocks.run_page(page, tmp_path) == []


def test_important_pages_have_blocks():
    names = {page.name for page in PAGES}
    assert names >= {"README.md", "index.md", "quickstart.md", "guide.md"}


@pytest.mark.parametrize(
    ("printed", "n_wrong"), [("2", 0), ("3", 1), ("...", 0), ("", 1)]
)
def test_wrong_output_is_found(tmp_path, printed, n_wrong):
    page = tmp_path / "page.md"
    page.write_text(f"```python\nprint(1 + 1)\n```\n\n```text\n{printed}\n```\n")
    assert len(blocks.run_page(page, tmp_path)) == n_wrong


def test_failing_block_names_page_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\nx.missing\n```\n")
    with pytest.raises(AttributeError) as raised:
        blocks.run_page(page, tmp_path)
    last = raised.traceback[-1]
    assert (Path(last.path).name, last.lineno + 1) == ("page.md", 5)
