"""`python -m layerwright` is the command `layerwright`."""

from layerwright.cli import main

if __name__ == "__main__":
    main()
