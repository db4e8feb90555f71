"""How long the indexing thread waits for what."""

from __future__ import annotations

from attrs import frozen


@frozen
class Intervals:
    """All in seconds, unless a field says otherwise."""

    takeover: float = 2.0
    """How often a process that reads tries to become the writer."""
    request: float = 1.0
    """How often the writer looks whether another process asked for something: about 20 µs each time."""
    retry: tuple[float, float] = (5.0, 120.0)
    """Between two tries to write where writing failed: at first, and at most; each wait is twice the last."""
    look_again: float = 300.0
    """Changes that no watcher reported are found by looking at every file this often, or less often."""
    look_again_share: float = 3_000
    """The look is at most this share of the time, one three-thousandth of a core: 20,000 files take 0.3 s."""
    poll: float = 5.0
    """`look_again` where nothing is watched."""
    poll_share: float = 50
    """`look_again_share` where nothing is watched."""
    after_watched: float = 1.0
    """A large tree takes a second to watch; what changed meanwhile is found this long after, when answers are there."""
    burst_pause: float = 0.15
    """A burst of changes is over when nothing came for so long, which is longer than the watcher's own pause."""
    longest_burst: float = 3.0
    """A burst that goes on for longer is taken in as it is."""
    saves: float = 0.15
    """A question waits so long at most for files that were saved before it was asked; a small one takes 3 ms."""
    after_save: float = 0.15
    """What a save leaves to do in the background waits for so long."""
    focus: float = 10.0
    """An editor that comes to the front makes for a look at every file at most this often."""
    count_after: float = 3.0
    """Imports are counted so long after files were last written: a save would wait for it."""
    count_every: float = 60.0
    """Between two counts of imports. A count reads every file's, 0.35 s for 13,000 files."""
    model: float = 30.0
    """How often a folder without an installed model looks whether there is one now."""
    tidy_after: float = 60.0
    """Quiet before tidying: whoever saves, saves again."""
    tidy_every: float = 3600.0
