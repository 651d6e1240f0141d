"""Tools that check functions: contract, cases, FLOP counts, a self-test."""

from ._case import Case as Case
from ._contract import ContractError as ContractError, check_contract as check_contract

__all__ = ["Case", "ContractError", "check_contract"]
