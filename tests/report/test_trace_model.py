"""The page of a matrix from measurements: singular values, entries with the deviation of their noise."""

import copy

import numpy as np

from hushrank.report.trace_model import read_entries, say_gain, say_values, trace_page
from model_support import fitted
from report_support import Document


def test_entries_are_the_largest_with_their_deviation():
    model = fitted("PrivateTraceRegression")
    entries = read_entries(model, 4)
    assert [abs(entry.value) for entry in entries] == sorted(abs(model.coef_).ravel())[::-1][:4]
    assert entries[0].deviation in model.coef_deviation_ and entries[0].mark == ""
    noisy = copy.copy(model)
    noisy.coef_deviation_ = np.full(model.coef_.shape, 1e9)
    assert {entry.mark for entry in read_entries(noisy, 4)} == {"noise"}
    assert Document(trace_page(noisy)).all("span", "dim")


def test_the_page_tells_what_stands_above_the_noise():
    model = fitted("PrivateTraceRegression")
    text = Document(trace_page(model)).text
    assert say_values(model).startswith("1 of 1 singular value stands above the noise") and say_values(model) in text
    assert say_gain(model)[1:] in text and f"{model.singular_values_[0]:.4g}" in text


def test_a_zero_matrix_shows_no_entries():
    nothing = copy.copy(fitted("PrivateTraceRegression"))
    nothing.coef_, nothing.singular_values_, nothing.strength_ = np.zeros((4, 3)), np.zeros(1), np.zeros(1)
    text = Document(trace_page(nothing)).text
    assert "Largest entries" not in text and "nothing stood above the noise" in text.lower()


def test_models_of_older_versions_have_no_marks():
    older = copy.copy(fitted("PrivateTraceRegression"))
    del older.strength_, older.coef_deviation_
    assert say_values(older) is None and read_entries(older, 1)[0].deviation is None
    assert "The largest entries" in Document(trace_page(older)).text
