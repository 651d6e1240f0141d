"""One self-contained HTML page of a run, built from its folders alone."""

import importlib.resources
from collections.abc import Sequence
from pathlib import Path

from ..core._files import RecordError, read_json, write_bytes
from . import _html as html
from ._bibtex import parse_reference
from ._claim import Verdict
from ._runner import RunResult, read_result, run_folders
from ._text import changed_text, seconds_text

_MANIFEST = ("devices", "versions", "git", "started", "quick", "seed")  # what is shown


def write_report(folder: str | Path) -> Path:
    """Write ``report.html``, one file with all figures inside.

    Parameters
    ----------
    folder : str or Path
        ``results/<UTC stamp>`` of a session, or one run folder. The runs may be
        unfinished; the page says so.

    Returns
    -------
    Path
        The page, in the folder.

    Raises
    ------
    FileNotFoundError
        If it is neither.
    ValueError
        If a file in it is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from jaxrepro.experiment import run_session, write_report
    >>> session = run_session("jaxrepro.experiment", [], results=tempfile.mkdtemp())
    >>> write_report(session.folder).name
    'report.html'
    """
    folder = Path(folder)
    if (folder / "summary.json").exists():
        places = run_folders(folder)
    elif (folder / "config.json").exists():
        recorded = read_json(folder / "config.json", ["experiment"])
        places = [(recorded["experiment"], folder)]
    else:
        raise FileNotFoundError(f"{folder}: neither a session nor a run folder")
    runs = [_read(*place) for place in places]
    style = importlib.resources.files("jaxrepro.experiment") / "report.css"
    try:
        parts = [_header(runs), "<main>", _claims(runs), *map(_section, runs)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordError(
            f"{folder}: expected records of a run; got {error!r}"
        ) from error
    body = [*parts, "</main>"]
    title = "jaxrepro: " + (runs[0][0].name if len(runs) == 1 else "experiments")
    page = html.page(title, style.read_text(encoding="utf-8"), body)
    write_bytes(folder / "report.html", page.encode())
    return folder / "report.html"


def _read(name, folder):
    """Outcome and manifest of a run, also of one that has not started."""
    file = folder / "manifest.json"
    if file.exists():
        return read_result(folder), read_json(file, _MANIFEST)
    return RunResult(name, folder, "running"), {}


def _header(runs: Sequence) -> str:
    facts = []
    manifest = next((m for _, m in runs if m), {})
    if manifest:
        devices, versions = manifest["devices"], manifest["versions"]
        git = manifest["git"]
        changed = " with changes" if git["dirty"] is True else ""
        facts = [
            manifest["started"][:16].replace("T", " ") + " UTC",
            "quick run" if manifest["quick"] else "full run",
            f"seed {manifest['seed']}",
            f"jaxrepro {versions.get('jaxrepro', '')}",
            f"jax {versions.get('jax', '')} on {devices['count']} {devices['kind']}",
            f"commit {git['commit'][:9]}{changed}",
        ]
    verdicts = [claim.verdict for run, _ in runs for claim in run.claims]
    counts = [html.verdict_chip(v, verdicts.count(v)) for v in Verdict if v in verdicts]
    for status, kind in (("failed", "error"), ("running", "skipped")):
        n = sum(run.status == status for run, _ in runs)
        words = f"{n} experiment{'s' * (n != 1)} {_STATUS_WORDS[status]}"
        counts += [html.chip(words, kind)] * bool(n)
    return (
        '<header><p class="kicker">jaxrepro experiments</p>'
        "<h1>What was claimed, what was measured</h1>"
        f'<p class="facts">{" · ".join(map(html.escape, facts))}</p>'
        f'<p class="chips">{" ".join(counts)}</p></header>'
    )


_STATUS_WORDS = {"complete": "complete", "failed": "failed", "running": "incomplete"}


def _claims(runs: Sequence) -> str:
    groups = "".join(_claim_group(run, about) for run, about in runs)
    columns = ("Claim", "Source", "Expected", "Measured", "Verdict")
    head = "".join(f"<th>{column}</th>" for column in columns)
    return (
        '<section id="claims"><h2>Claims</h2><table class="claims">'
        f"<thead><tr>{head}</tr></thead>{groups}</table></section>"
    )


def _claim_group(run, manifest):
    title = manifest.get("title") or run.name
    link = f'<a href="#{_anchor(run.name)}">{html.escape(title)}</a>'
    state = "" if run.status == "complete" else f" {_state(run)}"
    if run.changed:
        state += f'<p class="note">{html.escape(changed_text(run))}</p>'
    rows = [f'<tr class="group"><th colspan="5">{link}{state}</th></tr>']
    for claim in run.claims:
        note = f'<p class="note">{html.escape(claim.detail)}</p>'
        cells = (
            ("Claim", html.escape(claim.statement) + note * bool(claim.detail)),
            ("Source", html.escape(claim.source)),
            ("Expected", html.escape(claim.target).replace(" ± ", "\u00a0±\u00a0")),
            ("Measured", html.escape(claim.measured or "–")),
            ("Verdict", html.verdict_chip(claim.verdict)),
        )
        row = "".join(
            f'<td data-label="{label}"><div>{cell}</div></td>' for label, cell in cells
        )
        rows.append(f"<tr>{row}</tr>")
    return f"<tbody>{''.join(rows)}</tbody>"


def _section(entry) -> str:
    run, manifest = entry
    parts = [
        f'<section class="experiment" id="{_anchor(run.name)}">',
        f"<h2>{html.escape(manifest.get('title') or run.name)}</h2>",
        f'<p class="facts"><code>{html.escape(run.name)}</code> {_state(run)}</p>',
        html.paragraphs(manifest["description"]) if manifest.get("description") else "",
        _papers(manifest.get("papers", ())),
    ]
    if run.error:
        parts.append(f'<pre class="error">{html.escape(run.error)}</pre>')
    parts.append(_figures(run))
    parts += [html.table(file) for file in sorted(run.folder.glob("tables/*.csv"))]
    config_file = run.folder / "config.json"  # absent if the disk was full
    config = read_json(config_file) if config_file.exists() else {}
    parts.append(html.details("Settings", html.definitions(config)))
    hidden = ("description", "error", "plot_error", "papers")
    evidence = {key: value for key, value in manifest.items() if key not in hidden}
    parts.append(html.details("Evidence", html.definitions(evidence)))
    bibtex = "\n\n".join(paper["bibtex"] for paper in manifest.get("papers", ()))
    if bibtex.strip():
        parts.append(html.details("BibTeX", f"<pre>{html.escape(bibtex)}</pre>"))
    return "\n".join(part for part in [*parts, "</section>"] if part)


def _state(run):
    kind = {"complete": "plain", "failed": "error", "running": "skipped"}[run.status]
    words = _STATUS_WORDS[run.status]
    if run.status == "complete":
        return f"· {seconds_text(run.seconds)}"
    if run.status == "running":
        words += ": still at work, or stopped"
    return html.chip(words, kind)


def _papers(papers):
    items = []
    for paper in papers:
        if not paper["bibtex"]:
            missing = f"{paper['key']}: no entry in any references.bib"
            items.append(f"<li>{html.escape(missing)}</li>")
            continue
        reference = parse_reference(paper["bibtex"])
        title = html.escape(reference.title or paper["key"])
        if reference.link:
            title = f'<a href="{html.escape(reference.link)}">{title}</a>'
        rest = ", ".join(filter(None, (reference.venue, reference.year)))
        items.append(
            f"<li><cite>{title}</cite><br>{html.escape(reference.authors)}. "
            f"{html.escape(rest)}.</li>"
        )
    return f'<ul class="papers">{"".join(items)}</ul>' if items else ""


def _figures(run):
    folder = run.folder / "figures"
    captions = folder / "captions.json"
    captions = read_json(captions) if captions.exists() else {}
    files = sorted(folder.glob("*.png"))
    order = list(captions)
    files.sort(key=lambda f: order.index(f.stem) if f.stem in order else len(order))
    figures = "".join(html.figure(file, captions.get(file.stem, "")) for file in files)
    parts = f'<div class="figures">{figures}</div>' if figures else ""
    if run.plot_error.startswith("Traceback"):
        parts += f'<pre class="error">{html.escape(run.plot_error)}</pre>'
    elif run.plot_error:
        parts += f'<p class="note">{html.escape(run.plot_error)}</p>'
    return parts


def _anchor(name):
    return html.escape(name.replace("/", "-"))
