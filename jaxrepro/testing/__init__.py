"""Tools that check functions: contract, cases, FLOP counts, a self-test."""

from ._case import Case as Case
from ._contract import ContractError as ContractError, check_contract as check_contract
from ._flops import FlopCount as FlopCount, count_flops as count_flops
from ._inputs import numpy_generator as numpy_generator
from ._registry import (
    area_names as area_names,
    contract_gaps as contract_gaps,
    public_functions as public_functions,
)
from ._selftest import (
    SelfTestCheck as SelfTestCheck,
    SelfTestReport as SelfTestReport,
    selftest as selftest,
)

__all__ = [
    "Case",
    "ContractError",
    "FlopCount",
    "SelfTestCheck",
    "SelfTestReport",
    "area_names",
    "check_contract",
    "contract_gaps",
    "count_flops",
    "numpy_generator",
    "public_functions",
    "selftest",
]
