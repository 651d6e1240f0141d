import copy
import pickle

from jaxrepro.core import DataUnavailableError, MissingExtraError


def test_errors_can_be_copied_and_pickled():
    missing = MissingExtraError("aeon", "data", "BasicMotions")
    for error in (missing, DataUnavailableError("no data")):
        for again in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
            assert type(again) is type(error)
            assert str(again) == str(error)
