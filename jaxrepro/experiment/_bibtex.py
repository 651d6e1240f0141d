"""The few fields of a BibTeX entry that a list of references shows."""

import re
import unicodedata
from typing import NamedTuple

_ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303",
    "c": "\u0327", "=": "\u0304", ".": "\u0307", "u": "\u0306", "v": "\u030c",
    "H": "\u030b", "r": "\u030a", "k": "\u0328",
}  # fmt: skip
_LETTERS = {r"\ss": "ß", r"\o": "ø", r"\O": "Ø", r"\l": "ł", r"\L": "Ł", r"\ae": "æ"}


class Reference(NamedTuple):
    """A reference as shown in the report; fields that are absent are empty."""

    title: str
    authors: str
    venue: str
    year: str
    link: str


def parse_reference(entry: str) -> Reference:
    """Fields of one BibTeX entry, accents resolved and braces dropped."""
    fields = {name.lower(): _plain(value) for name, value in _fields(entry)}
    authors = re.split(r"\s+and\s+", fields.get("author", ""))
    if fields.get("doi"):
        link = f"https://doi.org/{fields['doi']}"
    elif fields.get("eprint"):
        link = f"https://arxiv.org/abs/{fields['eprint']}"
    else:
        link = fields.get("url", "")
    venue = fields.get("booktitle") or fields.get("journal") or ""
    return Reference(
        title=fields.get("title", ""),
        authors=", ".join(filter(None, map(_natural_order, authors))),
        venue=venue,
        year=fields.get("year", ""),
        link=link if re.match(r"https?://", link) else "",
    )


def _fields(entry):
    """Pairs of name and raw value; braces inside a value may be nested."""
    for match in re.finditer(r"(\w+)\s*=\s*", entry):
        rest = entry[match.end() :]
        if rest[:1] == "{":
            depth = 0
            for i, character in enumerate(rest):
                depth += (character == "{") - (character == "}")
                if depth == 0:
                    yield match[1], rest[1:i]
                    break
        elif rest[:1] == '"':
            yield match[1], rest[1:].partition('"')[0]
        else:
            yield match[1], re.match(r"[^,}\s]*", rest)[0]  # pyright: ignore


def _plain(text):
    def accent(match):
        return unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]])

    text = re.sub(r"""\\(['`^"~=.])\s*\{?\\?([A-Za-z])\}?""", accent, text)
    text = re.sub(r"\\([cuvHrk])\s*\{([A-Za-z])\}", accent, text)
    text = re.sub(r"\\([cuvHrk])\s+([A-Za-z])\b", accent, text)
    for command, letter in _LETTERS.items():
        text = re.sub(re.escape(command) + r"(?![A-Za-z])\s*", letter, text)
    text = text.replace(r"\&", "&").replace("--", "–").replace("~", " ")
    return " ".join(re.sub(r"[{}]", "", text).split())


def _natural_order(author):
    last, comma, first = author.partition(",")
    return f"{first.strip()} {last.strip()}" if comma else author.strip()
