"""The command `compare` as a module: `python -m flows.compare`."""

from flows.cli.application import alias

main = alias("flows.compare", ("compare",))

if __name__ == "__main__":
    raise SystemExit(main())
