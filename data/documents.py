"""Versions of the documents that a run writes, importable without the code that writes them."""

RESULTS_VERSION = 2
"""Version of results.json. Raised when a key is renamed, removed or changes its meaning; not for a new key."""
METHODOLOGY_VERSION = 3
"""Version of what scores and intervals mean. Raised whenever one of them is computed or decided otherwise."""
METHODOLOGY = "methodology_version"
"""Its key in results.json and in manifests; those before it have none."""
ABSENT = "absent"
"""The key of a run's sentences on servers that did not answer, and whose stored replies were used."""
NEWLY_APART = "newly_apart"
"""The key of a run's suites of which it says once that their metrics no longer make a mean."""
