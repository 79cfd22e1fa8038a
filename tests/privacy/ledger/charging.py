"""Processes that charge a ledger, for the tests of races and crashes; run as a script.

The script loads the library once and forks, so that a hundred processes start in a moment; it also shows that an
account works after a fork. Results go to stdout as JSON.
"""

import json
import os
import random
import select
import signal
import sys
import time
import traceback

from hushrank.exceptions import BudgetExceeded
from hushrank.privacy.events import Pure
from hushrank.privacy.ledger import Ledger

COST = 0.01


def race(account, processes, charges):
    """How many charges every process got, and how many it was refused; all start at once."""
    gate, opener = os.pipe()
    results = []
    for _ in range(processes):
        results.append(fork(lambda report: charge_many(account, charges, gate, opener, report)))
    os.close(gate)
    os.close(opener)  # every child reads the end of the gate now
    return [json.loads(finish(*result)) for result in results]


def charge_many(account, charges, gate, opener, report):
    os.close(opener)
    os.read(gate, 1)
    got = refused = 0
    for _ in range(charges):
        try:
            account.charge(Pure(COST))
            got += 1
        except BudgetExceeded:
            refused += 1
    os.write(report, json.dumps({"got": got, "refused": refused}).encode())


def kill(account, rounds, together, longest, seed):
    """Numbers of all charges that were acknowledged by processes before they were killed at random moments."""
    moments = random.Random(seed)
    acknowledged = []
    for _ in range(rounds):
        children = [fork(lambda report: charge_forever(account, report)) for _ in range(together)]
        for child, reader in children:
            select.select([reader], [], [])  # on a busy machine a child may take its time to start
            time.sleep(moments.uniform(0.0, longest))
            os.kill(child, signal.SIGKILL)
        acknowledged += [int(number) for child in children for number in finish(*child, killed=True).split()]
    return acknowledged


def charge_forever(account, report):
    while True:
        os.write(report, f"{account.charge(Pure(COST)).number}\n".encode())


def fork(work):
    """Process id of a child that runs work(report), and the reading end of its report."""
    reader, report = os.pipe()
    child = os.fork()
    if child:
        os.close(report)
        return child, reader
    try:
        os.close(reader)
        work(report)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def finish(child, reader, killed=False):
    """The report of a child, after it ended in the expected way."""
    with os.fdopen(reader) as report:
        text = report.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == (-signal.SIGKILL if killed else 0), f"a child ended with {code}"
    return text


if __name__ == "__main__":
    task, where, name, *numbers = sys.argv[1:]
    arguments = [json.loads(number) for number in numbers]
    json.dump({"race": race, "kill": kill}[task](Ledger(where)[name], *arguments), sys.stdout)
