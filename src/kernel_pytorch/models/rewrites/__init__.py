"""One file per rewrite of a model; both optimisers use them."""
