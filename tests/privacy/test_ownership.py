"""One owner, one process: no copies, no pickles, no use after a fork, even under a reused number."""

import copy
import os
import pickle

import pytest

from fork_support import in_child
from hushrank.exceptions import HushrankError, KeystreamMisuse, StateMisuse
from hushrank.privacy.ownership import SingleOwner, current_process


class Purse(SingleOwner):
    _owned, _danger = "purse", "a coin would be spent twice"

    def __init__(self):
        self._take_ownership()

    def coin(self):
        self._check_owner()
        return 1


def test_the_owner_may():
    assert Purse().coin() == 1


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_protocol_pickles_it(protocol):
    with pytest.raises(StateMisuse, match=r"^a purse cannot be copied or pickled: a coin would be spent twice\.$"):
        pickle.dumps(Purse(), protocol)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda purse: copy.deepcopy({"held": [purse]})])
def test_copies_are_refused_wherever_it_is_held(duplicate):
    with pytest.raises(StateMisuse, match="cannot be copied"):
        duplicate(Purse())


def test_a_child_and_a_grandchild_may_not():
    purse = Purse()
    message = "StateMisuse: this purse was made before a fork: a coin would be spent twice. Make a new one in the child"
    assert in_child(purse.coin).startswith(message)
    assert message in in_child(lambda: in_child(purse.coin))
    assert in_child(lambda: Purse().coin()) == "returned 1"
    assert purse.coin() == 1


def test_the_number_of_the_parent_does_not_help():
    """Systems give numbers out again: a child of a child may have that of the process that made the purse."""
    purse, number = Purse(), os.getpid()

    def pretend():
        os.getpid = lambda: number
        return purse.coin()

    assert in_child(pretend).startswith("StateMisuse: this purse was made before a fork")


def test_forks_are_counted_in_the_child_only():
    number, forks = current_process()
    assert number == os.getpid()
    assert in_child(lambda: current_process()[1]) == f"returned {forks + 1}"
    assert current_process() == (number, forks)


def test_misuse_is_one_kind_of_error():
    assert issubclass(KeystreamMisuse, StateMisuse) and issubclass(StateMisuse, HushrankError | RuntimeError)
