"""Which examples property tests see: the same ones in every run of `make test`, new ones in every `make audit`."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.register_profile("search", derandomize=False)
settings.load_profile("fixed")
