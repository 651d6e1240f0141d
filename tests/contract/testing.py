"""``jaxrepro.testing`` holds no numerical function."""

CASES = []

EXEMPT = {
    "check_contract": "calls functions and looks at what they do; no array comes out",
    "contract_gaps": "compares names",
    "public_functions": "lists names",
}
