"""The suite `rag` (config/suites/rag.yaml) alone: `python -m flows.rag`."""

from flows.command import main

if __name__ == "__main__":
    raise SystemExit(main("rag"))
