"""Run every benchmark and print its table: ``make bench``."""

import geometry_speed
import import_time
from measure import describe_machine


def main() -> None:
    print(describe_machine(["geomstats"]))
    import_time.main()
    geometry_speed.main()


if __name__ == "__main__":
    main()
