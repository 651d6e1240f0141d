"""``jaxrepro.testing`` holds no numerical function."""

CASES = []

EXEMPT = {
    "check_contract": "calls functions and looks at what they do; no array comes out",
    "contract_gaps": "compares names",
    "count_flops": "looks at a trace and gives Python ints",
    "numpy_generator": "gives a generator of NumPy",
    "area_names": "lists names",
    "public_functions": "lists names",
    "selftest": "starts a process and gives text",
}
