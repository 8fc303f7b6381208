"""Many logistic problems that share X, solved together."""
