"""`python -m gazelab`: the same as the command `gazelab`."""

from gazelab.cli import main
from gazelab.core.process import leave


def run() -> None:
    """Run the command line and end the process."""
    leave(main())


if __name__ == "__main__":
    run()
