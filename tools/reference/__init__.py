"""Makes the pages of the API reference from the built package, its catalogue and the public headers."""
