"""A run that gives calls in flight an hour when it is stopped, however busy the machine: as `flows.full_eval`."""

import sys

if __name__ == "__main__":
    from basic_control.tasks.models import scheduler

    scheduler.GRACE_S = 3600.0
    from basic_control.flows.cli.application import main

    sys.exit(main(["run", *sys.argv[1:]]))
