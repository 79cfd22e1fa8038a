"""`python -m hushrank` is the `hushrank` command."""

from hushrank.cli.main import main

main()
