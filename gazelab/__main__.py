"""`python -m gazelab`: the same as the command `gazelab`."""

from gazelab.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
