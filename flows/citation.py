"""The suite `citation` (config/suites/citation.yaml) alone: `python -m flows.citation`."""

from basic_control.flows.cli.application import alias

main = alias("flows.citation", ("run", "citation"))

if __name__ == "__main__":
    raise SystemExit(main())
