"""An oracle written from the rules alone, and random runs held against it.

    python -m tests.oracle 500          500 draws of every kind, other ones each time; every disagreement is shown
    python -m tests.oracle 500 7 runs   those of seed 7, of one kind (`tests.oracle.kinds`)

Tests draw the same few each time, or with ORACLE_DRAWS=n so many new ones of every kind, and make a failure small.
"""
