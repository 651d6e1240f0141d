"""``python -m experiments list | run | report``."""

import sys

from jaxrepro.experiment import main

if __name__ == "__main__":
    sys.exit(main("experiments"))
