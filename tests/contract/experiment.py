"""Contract cases of ``jaxrepro.experiment``: none, it computes nothing in JAX."""

CASES = []
EXEMPT = dict.fromkeys(
    [
        "as_table",
        "claims_table",
        "experiment",
        "experiment_names",
        "judge",
        "load_experiment",
        "main",
        "plot_style",
        "read_result",
        "read_table",
        "run_experiment",
        "run_session",
        "select_rows",
        "table_from_rows",
        "write_report",
    ],
    "works on the host: declarations, files, tables, pages",
)
