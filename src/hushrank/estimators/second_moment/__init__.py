"""Private PCA, covariance and low-rank approximation: estimators that see rows through their second moment."""
