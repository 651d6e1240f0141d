"""Contract cases of ``jaxrepro.sweep``: none, it runs the functions of others."""

CASES = []
EXEMPT = dict.fromkeys(
    ["export", "load", "status", "sweep", "worker_from_env"],
    "works on the host: launches, files, environment",
)
EXEMPT["trial_key"] = "returns a key; equals stored ones in tests/sweep/test_trials.py"
