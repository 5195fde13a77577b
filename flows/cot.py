"""The suite `cot` (config/suites/cot.yaml) alone: `python -m flows.cot`."""

from basic_control.flows.cli.application import alias

main = alias("flows.cot", ("run", "cot"))

if __name__ == "__main__":
    raise SystemExit(main())
