"""``python -m montechain`` is the command line."""

from montechain.cli import main

if __name__ == "__main__":
    main()
