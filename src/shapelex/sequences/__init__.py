"""Shapes in time: codes that follow a motion, their rhythm, and the states of behavior that they pass through.

The names below load on first use.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "bout_tables": ["bouts", "dwell", "ngrams", "transitions"],
        "encoding": ["encode_sequence"],
        "registration": ["SequenceRegistration", "register_sequence"],
        "result": ["SequenceCodes"],
        "rhythm": ["curvature", "phase_velocity", "posture_speed"],
        "states": ["BehaviorStates", "find_states"],
        "summaries": ["series_summary"],
    },
)

del _lazy
