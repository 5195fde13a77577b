"""The suite `rag` (config/suites/rag.yaml) alone: `python -m flows.rag`."""

from basic_control.flows.cli.application import alias

main = alias("flows.rag", ("run", "rag"))

if __name__ == "__main__":
    raise SystemExit(main())
