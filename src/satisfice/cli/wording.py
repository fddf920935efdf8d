"""How the shell says what an error says in Python: options for parameters, and its own advice."""

from __future__ import annotations

from satisfice.errors import Hint, SatisficeError

HINTS: dict[str, str] = {
    Hint.CORRECT: "--correct corrects it",
    Hint.CORRECT_INSTEAD: "--correct replaces the reward",
    Hint.LOAD: "choose another name, or go on with that one",
    Hint.CREATE: "`satisfice study create` makes it",
    Hint.SET_COST: "`satisfice study set-cost` changes its cost",
    Hint.REOPEN: "`satisfice study reopen` lets it go on",
    Hint.STORAGE: "use sqlite:///studies.db or postgresql://user@host/database",
    Hint.FILE: "use sqlite:///file.db",
    Hint.GIVE_COSTS: "",
    Hint.ARM_COLUMN: "name it with --arm",
    Hint.REWARD_COLUMN: "name it with --reward",
    Hint.TABLE: "name one with --table",
    Hint.MAX_BAD: "a larger --max-bad accepts more",
    Hint.COSTS: "--cost COLUMN, --costs FILE or, for experiments, --random-costs SEED",
    Hint.SCALE: "divide the rewards with --scale, or use another --reward-model",
}
# Options that are not called like the parameter that they stand for.
OPTIONS = {"mu0": "--threshold", "label": "--name", "model": "--reward-model"}


def worded(error: SatisficeError) -> str:
    """An error for people at a shell.

    Examples
    --------
    >>> from satisfice.errors import InvalidSetting
    >>> worded(InvalidSetting("it must be a number of at least 0", parameter="max_bad", value=-1))
    '--max-bad -1; it must be a number of at least 0'
    """
    name = error.parameter or ""
    return error.worded(f"{OPTIONS.get(name, '--' + name.replace('_', '-'))} ", HINTS)
