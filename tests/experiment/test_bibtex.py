import pytest

from jaxrepro.core import bibtex_entries
from jaxrepro.experiment._bibtex import parse_reference


def test_an_entry_of_the_package():
    entry = bibtex_entries("jaxrepro.operators")["germain2026spectral"]
    reference = parse_reference(entry)
    assert reference.title.startswith("A Spectral-Grassmann Wasserstein metric")
    assert "Rémi Flamary" in reference.authors
    assert reference.year == "2026"
    assert reference.link == "https://arxiv.org/abs/2509.24920"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (r"title = {The {OT} of {\"o}nes}", "The OT of önes"),
        (r'title = "Quoted"', "Quoted"),
        (r"title = {Fran{\c c}ois and {\'{e}}t\'e}", "François and été"),
        (r"title = {\v{S}koda {\o} {\ss}}", "Škoda ø ß"),
        (r"title = {A \& B, 1--2}", "A & B, 1–2"),
    ],
)
def test_titles(field, text):
    assert parse_reference("@misc{key,\n  " + field + ",\n}").title == text


@pytest.mark.parametrize(
    ("field", "link"),
    [
        ("doi = {10.1/x}", "https://doi.org/10.1/x"),
        ("url = {https://example.org/a}", "https://example.org/a"),
        ("url = {javascript:alert(1)}", ""),
        ("note = {none}", ""),
    ],
)
def test_links(field, link):
    assert parse_reference("@misc{key,\n  " + field + "\n}").link == link


def test_names_in_both_orders():
    entry = "@misc{k,\n author = {Doe, Jane and John Smith},\n year = 2020,\n}"
    reference = parse_reference(entry)
    assert reference.authors == "Jane Doe, John Smith"
    assert reference.year == "2020"


def test_something_that_is_no_entry():
    assert parse_reference("nothing") == ("", "", "", "", "")
