"""What other programs take of the machine."""

from __future__ import annotations

import subprocess
import sys
import time

from cairn.operations.other_programs import OtherPrograms


def test_a_program_that_burns_a_core_shows() -> None:
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


def test_what_this_process_takes_is_not_counted() -> None:
    readings = iter([(0.0, 100.0, 5.0), (10.0, 130.0, 25.0), (20.0, 140.0, 35.0)])
    others = OtherPrograms(lambda: next(readings), cores=2, every_seconds=0.0)
    others.sample()
    assert others.share(600) == 0.5  # 30 s of 2 × 10 s, 20 of them our own
    assert others.share(10) == 0.0
