"""The conformance suite: what every private estimator must do, whoever wrote it."""

from hushrank.checks.suite import conformance_checks

__all__ = ["conformance_checks"]
