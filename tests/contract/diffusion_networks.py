"""The networks are cases of ``jaxrepro.diffusion``; classes need none of their own."""

CASES = []
EXEMPT = {}
