"""The suite `basic_control` (config/suites/basic_control.yaml) alone: `python -m flows.basic_control`."""

from basic_control.flows.cli.application import alias

main = alias("flows.basic_control", ("run", "basic_control"))

if __name__ == "__main__":
    raise SystemExit(main())
