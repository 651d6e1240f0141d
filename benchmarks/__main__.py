"""``python -m benchmarks [NAME ...]``: run all comparisons, or the named ones."""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    """Run the benchmarks; the exit code is 1 if a target was missed."""
    known = [
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name[0] != "_" and not module.ispkg
    ]
    names = sys.argv[1:] or known
    unknown = set(names) - set(known)
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
        return 2
    met = [importlib.import_module(f"benchmarks.{name}").main() for name in names]
    print("\nevery target met" if all(met) else "\na target was MISSED")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
