"""The command `leaderboard` as a module: `python -m flows.leaderboard`."""

from flows.cli.application import alias

main = alias("flows.leaderboard", ("leaderboard",))

if __name__ == "__main__":
    raise SystemExit(main())
