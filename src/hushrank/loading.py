"""Reading saved models of any class of the registry."""

from os import PathLike
from typing import Any

from hushrank.archive.container import read_archive
from hushrank.archive.models import restore_model
from hushrank.exceptions import ModelFileError
from hushrank.registry import RELEASES, find


def load(path: str | PathLike[str]) -> Any:
    """Read a model that `save` wrote; a foreign, damaged or newer file is refused with ModelFileError.

    A model of a class outside hushrank is read by the `load` of that class.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from hushrank.estimators.second_moment.pca import PrivatePCA
    >>> pca = PrivatePCA(1, row_norm=1.0, epsilon=1.0).fit(np.eye(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pca.save(os.path.join(folder, "pca.hush"))
    ...     copy = load(os.path.join(folder, "pca.hush"))
    >>> bool((copy.components_ == pca.components_).all()), copy.privacy_ == pca.privacy_
    (True, True)
    """
    content, columns = read_archive(path)
    name = content.get("class")
    if not isinstance(name, str) or name not in RELEASES:
        raise ModelFileError(f"{path} holds a model of class {name!r:.60}, which is not one of {', '.join(RELEASES)}.")
    return restore_model(find(name), path, content, columns)
