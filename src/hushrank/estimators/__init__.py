"""One package for each job: the estimator, its plan and forecast, its methods, their kernels beside them."""
