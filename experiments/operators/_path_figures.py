"""Figures of the paths between pairs of systems."""

import numpy as np

from jaxrepro.experiment import select_rows

from ._pairs import CYCLES

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
EXAMPLES = {"masses": "two coupled masses", "cycles": "two limit cycles"}
LINES = {
    "SGOT": {"color": "#0072B2", "linestyle": "-"},
    "HS": {"color": "#D55E00", "linestyle": (0, (4, 1.2))},
}


def plot(tables, out):
    """Paths, trajectories, cycles, and how the barycenters converged."""
    plot_path(tables, out)
    plot_trajectories(tables, out)
    plot_cycles(tables, out)
    plot_history(tables, out)


def plot_path(tables, out):
    """Frequencies, decay rates and objective along the path, one row an example."""
    caption = (
        "From one system (t = 0) to another (t = 1). Frequency and decay rate of the "
        "two slowest modes of the SGOT mean and of the mean of the matrices (HS), and "
        "the objective of the SGOT mean with its lower bound. Shaded: between the "
        "decay rates of the two systems."
    )
    with out.figure(
        "path", width="page", height=4.2, caption=caption, nrows=2, ncols=3, sharex=True
    ) as (figure, axes):
        for (example, title), row in zip(EXAMPLES.items(), axes):
            for column, name in zip(("frequency", "decay"), row):
                draw_modes(tables, name, example, column)
            draw_objective(tables, row[2], example)
            row[0].set(ylabel="frequency (Hz)", title=title.capitalize())
            row[1].set(ylabel="decay rate (1/s)")
            row[2].set(ylabel="objective")
        for panel in axes[1]:
            panel.set(xlabel="position t", xticks=QUARTERS)
            panel.set_xticklabels(["0", "¼", "½", "¾", "1"])
        lines = {
            label: handle
            for panel in axes[0]
            for handle, label in zip(*panel.get_legend_handles_labels())
        }
        figure.legend(
            lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines)
        )


def draw_modes(tables, axes, example, column):
    """One property of both modes along the path."""
    for mean, style in LINES.items():
        for mode, marker in ((1, "o"), (2, "s")):
            where = {"example": example, "mean": mean, "mode": mode}
            rows = select_rows(tables["path"], **where)
            label = f"{mean} mean" if mode == 1 else None
            axes.plot(rows["t"], rows[column], label=label, **style)
            ends = np.isin(rows["t"], (0, 1))
            dots = {"color": "#000000", "markersize": 3.5, "zorder": 4}
            axes.plot(rows["t"][ends], rows[column][ends], marker, **dots)
    if column == "decay":
        rows = select_rows(tables["path"], example=example, mean="SGOT")
        ends = rows["decay"][np.isin(rows["t"], (0, 1))]
        axes.axhspan(ends.min(), ends.max(), color="0.9", linewidth=0, zorder=0)
    axes.set_ylim(bottom=0)
    return axes


def draw_objective(tables, axes, example):
    """Objective along the path, above its lower bound."""
    rows = select_rows(tables["objective"], example=example)
    axes.plot(rows["t"], rows["objective"], color=LINES["SGOT"]["color"])
    dots = {"color": "#000000", "linestyle": (0, (1, 1)), "linewidth": 1.2}
    axes.plot(rows["t"], rows["bound"], label="lower bound", **dots)
    axes.set_ylim(bottom=0)
    return axes


def plot_trajectories(tables, out):
    """The position of the first mass, one column a position on the path."""
    caption = (
        "Position of the first mass, let go at 1, as the operators on the path move "
        "it: the SGOT mean oscillates at a frequency in between, the mean of the "
        "matrices (HS) dies out."
    )
    with out.figure(
        "trajectories",
        width="page",
        height=2.6,
        caption=caption,
        nrows=2,
        ncols=len(QUARTERS),
        sharex=True,
        sharey=True,
    ) as (_, axes):
        for t, column in zip(QUARTERS, axes.T):
            for (mean, style), panel in zip(LINES.items(), column):
                where = {"example": "masses", "mean": mean, "t": t}
                rows = select_rows(tables["trajectories"], **where)
                color = "#000000" if t in (0, 1) else style["color"]
                panel.plot(rows["time"], rows["first"], color=color, linewidth=1)
                panel.set(xticks=[0, 4, 8], yticks=[-1, 0, 1])
            column[0].set_title(f"t = {t:g}")
            column[1].set_xlabel("time (s)")
        for mean, panel in zip(LINES, axes[:, 0]):
            panel.set_ylabel(f"{mean} mean")


def plot_cycles(tables, out):
    """States in the plane, one column a position on the path."""
    caption = (
        "Trajectories between two limit cycles, 8 s from one start. Top: the SGOT "
        "mean, bottom: the mean of the matrices (HS). Grey: the cycles at both ends."
    )
    with out.figure(
        "cycles",
        width="page",
        height=3.1,
        caption=caption,
        nrows=2,
        ncols=len(QUARTERS),
        sharex=True,
        sharey=True,
    ) as (_, axes):
        angle = np.linspace(0, 2 * np.pi, 100)
        for t, column in zip(QUARTERS, axes.T):
            for (mean, style), panel in zip(LINES.items(), column):
                for system in CYCLES:
                    circle = system["radius"] * np.array([np.cos(angle), np.sin(angle)])
                    panel.plot(*circle, color="0.75", linewidth=0.8)
                where = {"example": "cycles", "mean": mean, "t": t}
                rows = select_rows(tables["trajectories"], **where)
                color = "#000000" if t in (0, 1) else style["color"]
                panel.plot(rows["first"], rows["second"], color=color, linewidth=0.6)
                panel.set_aspect("equal")
                panel.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
            column[0].set_title(f"t = {t:g}")
            column[1].set_xlabel("x")
        for mean, panel in zip(LINES, axes[:, 0]):
            panel.set_ylabel(f"{mean} mean\ny")


def plot_history(tables, out):
    """Excess of the objective over its last value, step by step."""
    caption = (
        "Objective of the barycenters on the way, less its last value, against the "
        "step, down to 1e-12."
    )
    with out.figure("history", caption=caption) as (_, axes):
        styles = {"masses": {"linestyle": "-"}, "cycles": {"linestyle": (0, (4, 1.2))}}
        colors = {0.25: "#56B4E9", 0.5: "#0072B2", 0.75: "#009E73"}
        for example, style in styles.items():
            for t, color in colors.items():
                rows = select_rows(tables["history"], example=example, t=t)
                excess = rows["objective"] - rows["objective"][-1]
                n = np.max(np.flatnonzero(excess > 1e-12), initial=0) + 1
                label = f"{example}, t = {t:g}"
                steps = rows["step"][:n], np.maximum(excess[:n], 1e-12)
                axes.semilogy(*steps, color=color, label=label, **style)
        axes.set(xlabel="step", ylabel="objective less its last value")
        axes.legend(fontsize=7)
