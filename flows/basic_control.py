"""The suite `basic_control` (config/suites/basic_control.yaml) alone: `python -m flows.basic_control`."""

from flows.command import main

if __name__ == "__main__":
    raise SystemExit(main("basic_control"))
