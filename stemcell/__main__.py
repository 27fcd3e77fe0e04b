"""``python -m stemcell``, the form that ``accelerate launch -m stemcell …`` needs."""

from stemcell.cli.main import main

if __name__ == "__main__":
    main()
