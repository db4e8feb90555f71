"""The processor time of other programs is measured."""

from __future__ import annotations

import subprocess
import sys
import time

from cairn.operations.other_programs import OtherPrograms


def test_a_program_that_uses_a_core_counts() -> None:
    others = OtherPrograms(cores=1)
    others.sample()
    burning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        deadline = time.monotonic() + 60
        while others.share(600) < 0.3 and time.monotonic() < deadline:
            time.sleep(1.1)
        assert others.share(600) >= 0.3
    finally:
        burning.kill()
        burning.wait()


def test_the_time_of_this_process_does_not_count() -> None:
    readings = iter([(0.0, 100.0, 5.0), (10.0, 130.0, 25.0), (20.0, 140.0, 35.0)])
    others = OtherPrograms(lambda: next(readings), cores=2, every_seconds=0.0)
    others.sample()
    assert others.share(600) == 0.5  # of 2 × 10 s, all were busy for 30 s, and this process for 20 s of them
    assert others.share(10) == 0.0
