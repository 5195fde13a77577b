"""The suite `citation` (config/suites/citation.yaml) alone: `python -m flows.citation`."""

from flows.command import main

if __name__ == "__main__":
    raise SystemExit(main("citation"))
