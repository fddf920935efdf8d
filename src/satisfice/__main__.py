"""`python -m satisfice`."""

from satisfice.cli import main

if __name__ == "__main__":
    main()
