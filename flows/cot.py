"""The suite `cot` (config/suites/cot.yaml) alone: `python -m flows.cot`."""

from flows.command import main

if __name__ == "__main__":
    raise SystemExit(main("cot"))
